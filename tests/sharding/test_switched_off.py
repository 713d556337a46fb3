"""A torch whose DTensor is not known: tried first, and left alone with a clear text if it is not as it must be."""

import os
import subprocess
from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import ShardingError
from oneop.sharding import self_test, switched_off
from oneop.sharding.dtensor import private
from quick_python import command

SRC = Path(__file__).parents[2] / "src"
WORKS = "\n  sharding is switched off; ops on plain tensors, gradients, torch.compile and jobs work"

PROGRAM = """
import sys, types, warnings
import torch
import torch.distributed.tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Shard
torch.__version__ = "2.99.0"
{change}
warnings.simplefilter("ignore")  # of an untested torch
import oneop
from oneop.errors import ShardingError
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    op = oneop.define("s_off(Tensor x) -> Tensor y", infer="elementwise", sbp=["S(0) -> S(0)"])
    op.register_kernel("cpu")(lambda x: x * 2)
    oneop.define("s_off2(Tensor x) -> Tensor y", infer="elementwise")
for warning in caught:
    if "DTensors" in str(warning.message):
        print("warned:", warning.message)
print(op(torch.ones(2)).tolist())
for use in (lambda: oneop.explain_sharding(op, torch.ones(1)), lambda: oneop.sharding.pin(op, "B -> B")):
    try:
        use()
    except ShardingError as error:
        print("raised:", str(error).splitlines()[0])
    except oneop.OneopError as error:
        print("other:", type(error).__name__)
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore
dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
x = DTensor.from_local(torch.ones(2), torch.distributed.init_device_mesh("cpu", (2,)), [Shard(0)], run_check=False)
try:
    print(op(x).placements)
except NotImplementedError as error:
    print("no strategy" if "sharding strategy" in str(error) else error)
"""


def run(change):
    program = PROGRAM.format(change=change)
    result = subprocess.run(
        [*command(), "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC)},
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.splitlines()


@pytest.fixture
def off():
    with pytest.warns(RuntimeWarning) as caught:
        switched_off.switch_off("it has six wheels")
    switched_off.switch_off("a second reason is not told")
    yield [str(warning.message) for warning in caught]
    switched_off._reasons.clear()


def test_a_newer_torch_that_passes_is_used():
    assert run("") == ["[2.0, 2.0]", "other: ArgumentError", "(Shard(dim=0),)"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("del torch._C._clear_DTensor_sharding_propagator_cache", "its DTensor has no _clear_DTensor_sharding_pro"),
        (
            "sys.modules['torch.distributed.tensor._redistribute'] = types.ModuleType('moved')",
            "cannot import name 'redistribute_local_tensor' from 'moved'",
        ),
        (
            "DTensor._op_dispatcher.wrap = lambda *_: 1 / 0",
            "its self-test raised ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_newer_torch_that_fails_is_left_alone(change, reason):
    said = run(change)
    head = f"oneop ops cannot take DTensors with torch 2.99.0: {reason}"
    assert said[0].startswith(f"warned: {head}") and said[1] == WORKS.splitlines()[1]
    assert said[2] == "[2.0, 2.0]"
    assert len(said) == 6 and all(line.startswith(f"raised: {head}") for line in said[3:5])
    assert said[5] == "no strategy"


def test_every_word_says_so(off):
    text = f"oneop ops cannot take DTensors with torch {torch.__version__}: it has six wheels{WORKS}"
    assert off == [text]
    op = oneop.define("s_word(Tensor x) -> Tensor y", infer="elementwise", sbp=["S(0) -> S(0)"])
    for use in (
        lambda: oneop.explain_sharding(op, torch.ones(1)),
        lambda: oneop.sharding.pin(op, "S(0) -> S(0)"),
        lambda: oneop.explicit_redistribution().__enter__(),
    ):
        with pytest.raises(ShardingError) as caught:
            use()
        assert str(caught.value) == text and isinstance(caught.value, NotImplementedError)


def test_the_installed_torch_passes():
    assert self_test.missing_parts() == "" and self_test.self_test() == ""
    assert self_test.try_call() == "" and self_test.try_call() == ""  # it leaves nothing behind


def test_the_self_test_can_fail(monkeypatch):
    monkeypatch.setattr(private, "redistribute_cost", lambda old, new: 0.0)
    assert self_test.why_unusable() == "its costs of redistribution are others"
    monkeypatch.setattr(private, "RuntimeSchemaInfo", lambda *args, **kwargs: None)
    assert "its key" in self_test.self_test()


def test_the_call_can_fail(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    monkeypatch.setattr(self_test, "_handle", lambda op, args, kwargs: args[0])
    assert self_test.why_unusable() == "a call by the handler has another result"
    monkeypatch.setattr(self_test, "_handle", lambda op, args, kwargs: torch.ones(1))
    assert self_test.why_unusable() == "a call by the handler does not give a DTensor that lies as it was told"
