"""What a call on DTensors would do, said without running it; and a mode that refuses what nobody asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sample_ops
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

import oneop
from oneop.errors import ArgumentError, RedistributionError
from oneop.sharding.dtensor.running import known_calls
from quick_python import command

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}


@pytest.fixture(scope="module")
def four():
    """A process group of 4 of which only this rank is real."""
    dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
    yield init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2))
    dist.destroy_process_group()


def tensor(mesh, shape, *placements):
    return DTensor.from_local(torch.randn(shape), mesh, placements, run_check=False)


def test_nothing_moves(four, capsys):
    line, _ = four
    op = sample_ops.matmul()
    a, b = tensor(line, (2, 4), Shard(0)), tensor(line, (4, 8), Replicate())
    found = oneop.explain_sharding(op, a, b)
    assert found.chosen == "S(0), B -> S(0)" and found.cost == 0 and found.moves == ()
    assert found.outputs == ((Shard(0),),) == (op(a, b).placements,)
    printed = capsys.readouterr().out
    assert printed == f"{found}\n"
    assert printed.splitlines()[:3] == [
        'op "k_matmul" on a mesh of 4',
        "  a: float32[8, 4] S(0)",
        "  b: float32[4, 8] B",
    ]
    assert "  *      0.000  S(0), B -> S(0)" in printed and "  nothing is redistributed" in printed
    assert [text for text, _ in found.signatures].count("S(0), B -> S(0)") == 1 and len(found.signatures) == 5


def test_something_moves(four, capsys):
    line, _ = four
    op = sample_ops.softmax()
    x = tensor(line, (8, 2), Shard(1))
    found = oneop.explain_sharding(op, x, dim=1)
    move = found.moves[0]
    assert (move.tensor, move.before, move.how in ("all-to-all", "all-gather")) == ("x", (Shard(1),), True)
    after = "Replicate()" if move.after == (Replicate(),) else "Shard(0)"
    assert move.line == f"x = x.redistribute(placements=[{after}])"
    assert found.cost > 0 and move.line in capsys.readouterr().out


def test_a_grid(four):
    _, grid = four
    op = sample_ops.matmul()
    a, b = tensor(grid, (4, 4), Shard(0), Replicate()), tensor(grid, (4, 4), Replicate(), Shard(1))
    found = oneop.explain_sharding(op, a, b)
    assert found.chosen == "S(0), B -> S(0) | B, S(1) -> S(1)" and len(found.signatures) <= 36
    assert "a mesh of 2 x 2" in str(found) and "more" in str(found)


def test_what_is_no_dtensor(four):
    with pytest.raises(ArgumentError, match='op "k_relu", input "x": expected a DTensor, found Tensor'):
        oneop.explain_sharding(sample_ops.relu(), torch.ones(2))


def test_explicit_redistribution(four):
    line, _ = four
    op = sample_ops.relu()
    partial, split = tensor(line, (8, 4), Partial()), tensor(line, (2, 4), Shard(0))
    with oneop.explicit_redistribution():
        op(split)
        with pytest.raises(RedistributionError) as error, oneop.explicit_redistribution():
            op(partial)
    assert str(error.value).splitlines()[0] == "an input is redistributed, and nobody asked for it"
    assert "oneop.k_relu.default" in str(error.value) and "oneop.explain_sharding(op, ...)" in str(error.value)
    op(partial)  # outside the block it is done
    with pytest.warns(RuntimeWarning, match="nobody asked for it"), oneop.explicit_redistribution("warn"):
        op(partial)
    with pytest.raises(ValueError, match="what the block raises stays"), oneop.explicit_redistribution():
        raise ValueError("what the block raises stays")
    with pytest.raises(ArgumentError, match='expected "raise" or "warn", found'):
        oneop.explicit_redistribution("shout").__enter__()


def test_free_moves(four):
    line, _ = four
    op = sample_ops.add()
    split, whole = tensor(line, (2, 4), Shard(0)), tensor(line, (8, 4), Replicate())
    with oneop.explicit_redistribution():
        op(split, whole)
    with pytest.raises(RedistributionError), oneop.explicit_redistribution(strict=True):
        op(split, whole)


def test_redistributed_where_no_signature_fits(four):
    line, _ = four
    op = oneop.define("e_whole(Tensor x) -> Tensor y", infer="elementwise", sbp=[])
    op.register_kernel("cpu")(lambda x: x)
    assert op(tensor(line, (2, 4), Shard(0))).placements == (Replicate(),)


def test_words_that_make_no_sense(four):
    line = oneop.placement("cpu", ranks=[0, 1, 2, 3])
    grid = oneop.placement("cpu", ranks=[[0, 1], [2, 3]])
    assert line.shape == (4,) and grid.shape == (2, 2) and grid.mesh.ndim == 2
    for run, text in [
        (lambda: oneop.placement("tpu", ranks=[0]), "placement: expected cpu or cuda, found 'tpu'"),
        (lambda: oneop.placement("cpu", ranks=[0, 0]), "placement: expected different ranks"),
        (lambda: oneop.placement("cpu", ranks=[[0], [1, 2]]), "placement: expected ranks such as"),
        (lambda: oneop.placement("cpu", ranks=[4]).mesh, "placement: rank 4 of a job with 4 ranks"),
        (
            lambda: oneop.global_tensor([1.0], placement=grid, sbp="B"),
            "sbp: expected 2 of them, one for each dimension",
        ),
        (lambda: oneop.to_global(torch.ones(2)), "to_global: a plain tensor needs placement= and sbp="),
        (lambda: tensor(line.mesh, (2,), Shard(0)).to_global(grid), "to_global: the tensor is on other devices"),
    ]:
        with pytest.raises(ArgumentError) as error:
            run()
        assert str(error.value).startswith(text)


def test_global_tensors_on_a_grid(four):
    grid = oneop.placement("cpu", ranks=[[0, 1], [2, 3]])
    x = oneop.global_tensor([[1, 2], [3, 4]], placement=grid, sbp=["S(0)", oneop.sbp.broadcast], dtype=torch.float32)
    assert x.placements == (Shard(0), Replicate()) and oneop.to_local(x).tolist() == [[1.0, 2.0]]
    assert oneop.to_local(x.to_global(sbp=["P", "B"])).shape == (2, 2)
    assert oneop.to_local(torch.ones(2)).tolist() == [1.0, 1.0]
    weight = oneop.global_tensor([1.0], placement=grid, sbp=["B", "B"], requires_grad=True)
    assert weight.requires_grad and weight.is_leaf


def test_a_call_that_is_run_by_the_adapter_is_known(four):
    line, _ = four
    op = sample_ops.expand()
    x = tensor(line, (2, 1), Shard(0))
    known_calls.clear()
    for width in (3, 5, 3, 5):
        assert op(x, shape=[8, width]).to_local().shape == (2, width)
    assert len(known_calls) == 2
    op.register_sbp("P -> P")  # another answer from now on
    assert not known_calls and op(x, shape=[8, 3]).placements == (Replicate(),)


def test_without_a_process_group():
    program = "import oneop; oneop.placement('cpu', ranks=[0]).mesh"
    result = subprocess.run([*command(), "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert "ArgumentError: placement: there is no process group" in result.stderr


@pytest.mark.parametrize("first", ["oneop.sharding.dtensor", "oneop.sharding.explicit", "oneop.testing.sbp_proof"])
def test_the_adapter_may_be_imported_first(first):
    program = f"""
import oneop
op = oneop.define("e_first(Tensor x) -> Tensor y", infer="elementwise")
import {first}
from torch.distributed.tensor import DTensor
assert op.overload in DTensor._op_dispatcher.sharding_propagator.op_strategy_funcs
"""
    result = subprocess.run([*command(), "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_importing_oneop_does_not_import_dtensor():
    program = "import sys, oneop; assert 'torch.distributed.tensor' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=False).returncode == 0


def test_an_attribute_that_is_read_sometimes(four):
    """It joins the key late, and what was answered before must not be found for its default."""
    line, _ = four
    op = oneop.define("e_sometimes(Tensor x, *, int a=0, int b=0) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x)

    @op.register_sbp
    def signatures(ctx):
        axis = ctx.attrs["b"] if ctx.attrs["a"] else 0
        ctx.new_builder().split("x", axis).split("y", axis).build()

    x = tensor(line, (2, 8), Shard(0))
    whole = (Replicate(),)
    for attrs, placements in [
        ({}, (Shard(0),)),
        ({"a": 1, "b": 1}, whole),
        ({"a": 1}, (Shard(0),)),
        ({"a": 1, "b": 1}, whole),
        ({"b": 1}, (Shard(0),)),
        ({"a": 2}, (Shard(0),)),
        ({"a": 2, "b": 1}, whole),
    ]:
        assert op(x, **attrs).placements == placements, attrs
    assert op.overload not in DTensor._op_dispatcher._custom_op_handlers


def test_calls_that_have_no_plan(four):
    line, _ = four
    op = sample_ops.matmul()
    a, b = tensor(line, (2, 4), Shard(0)), tensor(line, (4, 8), Replicate())
    assert oneop.sharding.explain(op, a, b=b).chosen == oneop.sharding.explain(op, a, b).chosen
    for args, text in (
        ((), 'op "k_matmul", input "a": it is missing'),
        ((a,), 'op "k_matmul", input "b": it is missing'),
        ((a, b, b), 'op "k_matmul": expected 2 inputs, found 3'),
        ((a, torch.ones(4, 8)), 'op "k_matmul", input "b": expected a DTensor, found Tensor'),
    ):
        with pytest.raises(ArgumentError) as error:
            oneop.sharding.explain(op, *args)
        assert str(error.value).splitlines()[0] == text
    source = oneop.define("k_source(Tensor? x) -> Tensor")
    with pytest.raises(ArgumentError, match='op "k_source": expected a DTensor, found none: there is no mesh'):
        oneop.sharding.explain(source)
