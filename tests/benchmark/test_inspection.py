"""Ops that look fast and are wrong: `oneop bench` says so, and does not print a ratio as if nothing were."""

import os
import time

import numpy as np
import pytest
import torch

import oneop
from oneop.benchmark import bench, timing
from oneop.benchmark.verdict import verdict
from oneop.errors import OpValueError
from oneop.registry import isolated


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def squares(kernel, *, sizes=(1000,), reference=torch.square, **options):
    op = oneop.define("cheat(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32, **options)(kernel)
    return bench(op, reference=reference, sizes=sizes, seconds=0.03)


def problem(result):
    assert not result.ok
    lines = verdict(result)
    assert any("its time says nothing" in line for line in lines), lines
    assert any("✗ wrong" in cells for cells in result.table())
    return result.find("forward", "op", result.sizes()[0]).problem


def place(x):
    """Return address and size: bench tries other sizes too, and memory of one may be used again for another."""
    return x.__array_interface__["data"][0], x.size


WRONG = "a result was wrong while the time was measured"
STALE = "a result is wrong after values changed in place"


@pytest.mark.parametrize("size", [10, 1000, 300_000])
@pytest.mark.parametrize("has_reference", [True, False])
def test_results_kept_by_address(size, has_reference):
    kept = {}

    def kernel(x):
        if place(x) not in kept:
            kept[place(x)] = x * x
        return kept[place(x)]

    reference = torch.square if has_reference else None
    assert problem(squares(kernel, sizes=(size,), reference=reference)) in (WRONG, STALE)


@pytest.mark.parametrize("count", range(2, 40, 3))
def test_a_result_of_another_size_ends_the_bench(count):
    calls = 0

    def kernel(x):  # as one does that knows its inputs by address alone, when memory is used again
        nonlocal calls
        calls += x.size == 10
        return x * x if calls < count else (x * x)[:1]

    with pytest.raises(OpValueError, match=r'output "y": expected float32\[10\] .*, found float32\[1\]'):
        squares(kernel, sizes=(10,))


def test_results_kept_by_address_and_a_cheap_look():
    kept = {}

    def kernel(x):
        key = (x.__array_interface__["data"][0], x.flat[0], x.flat[-1], x.size)
        if key not in kept:
            kept[key] = x * x
        return kept[key]

    assert problem(squares(kernel)) == STALE


@pytest.mark.parametrize("look", [slice(0, 8), slice(None, None, 97), [0, 500, -1]])
def test_results_kept_by_some_of_the_values(look):
    kept = {}

    def kernel(x):
        return kept.setdefault((x.shape, x.reshape(-1)[look].tobytes()) if x.size > 600 else next(unique), x * x)

    unique = iter(range(10**9))
    assert problem(squares(kernel)) in (WRONG, STALE)


def test_a_kernel_that_changes_what_torch_rounds():
    def kernel(x):
        torch.set_flush_denormal(True)
        return x * x

    assert "how denormal numbers are taken" in problem(squares(kernel))
    assert (torch.tensor([5e-324], dtype=torch.float64) * 1.0).item() > 0


def test_work_that_is_left_out_after_a_while():
    count = 0

    def kernel(x, out):
        nonlocal count
        count += 1
        if count < 30:
            np.multiply(x, x, out=out)

    assert not squares(kernel).ok


def test_a_kernel_that_slows_its_peers():
    before = torch.get_num_threads()

    def kernel(x):
        torch.set_num_threads(before + 1)
        return x * x

    assert problem(squares(kernel)) == "the op changes torch's number of threads while it is measured"
    assert torch.get_num_threads() == before


def test_a_kernel_that_changes_the_default_dtype():
    def kernel(x):
        torch.set_default_dtype(torch.float64)
        return x * x

    assert "torch's default dtype" in problem(squares(kernel))
    assert torch.get_default_dtype() is torch.float32


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_a_kernel_that_takes_processors_away():
    before = os.sched_getaffinity(0)

    def kernel(x):
        os.sched_setaffinity(0, {min(before)})
        return x * x

    assert "the processors of the process" in problem(squares(kernel))
    assert os.sched_getaffinity(0) == before


def test_a_kernel_that_stops_the_clock():
    clock = timing.clock

    def kernel(x):
        timing.clock = time.perf_counter = lambda: 0.0
        time.sleep(0.0005)
        return x * x

    result = squares(kernel, sizes=(10,))
    assert problem(result) == "the op changes the clock while it is measured"
    assert timing.clock is clock is time.perf_counter
    assert result.find("forward", "op", 10).minimum >= 0.0005


def test_a_gradient_that_is_kept():
    kept = {}
    op = oneop.define("cheat(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: x * x)

    @op.register_grad
    def grad(ctx, dy):
        return kept.setdefault(dy.shape, 2 * ctx.x * dy)

    result = bench(op, reference=torch.square, sizes=(1000,), seconds=0.03)
    assert result.find("backward", "op", 1000).problem in (WRONG, STALE)
    assert result.find("forward", "op", 1000).problem == ""


def test_a_kernel_that_does_not_run_by_default():
    op = oneop.define("cheat(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32, priority=1)(lambda x: x * x)
    kept = {}
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: kept.setdefault(place(x), x * x))
    result = bench(op, reference=torch.square, sizes=(100,), seconds=0.03)
    lines = [line for line in verdict(result) if "its time says nothing" in line]
    assert len(lines) == 1 and "numpy test_inspection.py" in lines[0]


@pytest.mark.parametrize("size", [1, 10, 100_000])
def test_an_honest_op(size):
    op = oneop.define("honest(Tensor x, Tensor w, Tensor index) -> Tensor y", infer="a b, b, a -> a b")
    op.register_kernel("cpu", language="torch")(lambda x, w, index: x * w + index[:, None])
    reference = lambda x, w, index: w * x + index[:, None]  # noqa: E731
    result = bench(op, reference=reference, sizes=(size,), seconds=0.02)
    assert result.ok, verdict(result)


def test_random_and_in_place_ops_are_not_compared():
    op = oneop.define("drawn(Tensor x) -> Tensor y", infer="elementwise", random=True, differentiable=False)
    op.register_kernel("cpu", language="torch")(lambda x: torch.rand_like(x))
    assert bench(op, sizes=(10,), seconds=0.01).ok
    assert bench(op, reference=torch.rand_like, sizes=(10,), seconds=0.01).ok
    changes = oneop.define("doubled(Tensor(a!) x) -> ()", differentiable=False)
    changes.register_kernel("cpu", dtypes=torch.float32)(lambda x: np.multiply(x, 1.0, out=x) and None)
    assert bench(changes, sizes=(1,), seconds=0.01).ok


def test_a_kernel_that_computes_in_fewer_bits():
    def kernel(x):
        narrow = x.astype(np.float16)
        return (narrow * narrow).astype(np.float32)

    assert not squares(kernel).ok
