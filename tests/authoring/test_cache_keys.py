"""After an edit compiled code is made again, in another process and in this one; without an edit it is found."""

import json
import os
import subprocess
from pathlib import Path

import edited_ops
import pytest
import torch

import oneop
from quick_python import command

HERE = Path(__file__).parent
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's compiler


def run(factor, cache):
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache), "OMP_NUM_THREADS": "1"}
    process = subprocess.run(
        [*command(), str(HERE / "edited_ops.py"), str(factor)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=500,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return json.loads(process.stdout.splitlines()[-1])


@pytest.mark.slow
def test_edits_between_two_processes(tmp_path):
    first, again, edited = run(2, tmp_path), run(2, tmp_path), run(3, tmp_path)
    for results, factor in ((first, 2.0), (again, 2.0), (edited, 3.0)):
        assert all(found["values"] == [factor, factor] for found in results.values()), results
    for name, found in again.items():  # nothing changed: everything is found
        expected = {"hit": 0, "miss": 0, "bypass": 1} if name == "ed_file" else {"hit": 1, "miss": 0, "bypass": 0}
        assert found["aot"] == expected, name
        assert found["fx"]["miss"] == 0, name
    assert all(found["aot"]["hit"] == 0 for found in edited.values())


HOWS = ["op", "torch.ops", "held overload"]


# "by turns" calls each op in one of the ways, and each way calls ops of all kinds.
@pytest.mark.parametrize("how", ["by turns", *(pytest.param(how, marks=pytest.mark.slow) for how in HOWS)])
def test_edits_in_one_process(how):
    names = edited_ops.define_all(2.0)

    def call(name):
        held = getattr(torch.ops.oneop, name).default
        chosen = HOWS[names.index(name) % len(HOWS)] if how == "by turns" else how
        return {
            "op": lambda x: getattr(oneop.ops, name)(x),
            "torch.ops": lambda x: getattr(torch.ops.oneop, name)(x),
            "held overload": lambda x: held(x),
        }[chosen]

    torch._dynamo.reset()
    compiled = {}
    for name in names:
        function = call(name)
        # One code object each, so that torch's limit of recompilations does not count them together.
        function.__code__ = function.__code__.replace(co_name=name)
        compiled[name] = torch.compile(function, backend="aot_eager", fullgraph=True)
    for factor in (2.0, 3.0, 2.0):
        edited_ops.define_all(factor)
        for name in names:
            assert edited_ops.measure(compiled[name]) == [factor, factor], name


def test_a_new_op_drops_nothing():
    op = oneop.define("ck_one(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel(language="torch")(lambda x: x + 1)
    counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda x: op(x), backend=counter)
    compiled(torch.ones(2))
    other = oneop.define("ck_two(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    other.register_kernel(language="torch")(lambda x: x + 2)
    compiled(torch.ones(2))
    assert counter.frame_count == 1
    op.register_kernel("cpu", priority=1)(lambda x: x + 3)
    assert compiled(torch.ones(2)).tolist() == [4, 4] and counter.frame_count == 2
