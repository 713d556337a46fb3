"""What kernels declare about bits is proved: determinism and batch invariance."""

import itertools

import numpy as np
import pytest
import torch

import oneop
from oneop.testing.checker import run_check
from oneop.testing.subject import Hints

FLOATS = (torch.float32, torch.float64)


@pytest.fixture(autouse=True)
def apart():
    with oneop.registry.isolated():
        yield


def outcome(op, family):
    (result,) = run_check(op, Hints(), only=family, examples=8).outcomes
    return result


def rows(name, kernel, *, infer="a b -> a", **declared):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer=infer, differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS, **declared)(kernel)
    return op


def by_blocks(x):
    """Return sums of rows, added up in another order where there are more rows."""
    width = 4 if len(x) > 4 else 2
    padded = np.pad(x, ((0, 0), (0, -x.shape[1] % width)))
    return padded.reshape(len(x), -1, width).sum(axis=1, dtype=x.dtype).sum(axis=1, dtype=x.dtype) + x[:, 0] / 3


def test_rows_that_depend_on_their_number():
    result = outcome(rows("bi_blocks", by_blocks, batch_invariant=True), "batch invariance")
    assert result.status == "failed"
    assert result.failure.message.startswith("the bits of a row depend on the other rows of the batch: rows ")


def test_rows_that_depend_on_each_other():
    op = rows("bi_scaled", lambda x: x.sum(axis=1) + 0 * x.max(), batch_invariant=True)
    assert outcome(op, "batch invariance").status == "failed"  # a NaN in another row


@pytest.mark.parametrize("axes", ["a b -> a", "a b -> b"])
def test_rows_that_do_not(axes):
    def kernel(x):
        return np.add.accumulate(x, axis=1)[:, -1] if axes.endswith("a") else np.add.accumulate(x, axis=0)[-1]

    result = outcome(rows("bi_right", kernel, infer=axes, batch_invariant=True), "batch invariance")
    assert result.status == "passed" and result.cases > 4, result


def test_rows_that_depend_on_where_they_are():
    def kernel(x):
        place = x.__array_interface__["data"][0] // 16 % 2
        return np.add.accumulate(x[:, :: -1 if place else 1], axis=1)[:, -1]

    assert outcome(rows("bi_place", kernel, batch_invariant=True), "batch invariance").status == "failed"


def test_only_large_batches():
    def kernel(x):
        return np.add.accumulate(x[:, :: -1 if len(x) > 1000 else 1], axis=1)[:, -1]

    assert outcome(rows("bi_large", kernel, batch_invariant=True), "batch invariance").status == "failed"


def test_a_random_op_that_is_deterministic(short_races):
    op = oneop.define("di_drawn(Tensor x) -> Tensor y", infer="elementwise", random=True, differentiable=False)
    op.register_kernel("cpu", language="torch", deterministic=True)(lambda x: torch.rand_like(x))
    assert outcome(op, "determinism").status == "passed"


def test_undeclared_is_told_and_no_failure():
    result = outcome(rows("bi_undeclared", by_blocks), "batch invariance")
    assert (result.status, result.note) == ("skipped", "does not hold bit by bit; no kernel declares it")
    result = outcome(rows("bi_good", lambda x: np.add.accumulate(x, axis=1)[:, -1]), "batch invariance")
    assert (result.status, result.note) == ("passed", "holds; no kernel declares it")


def test_an_op_without_rows():
    op = oneop.define("bi_mean(Tensor x) -> Tensor y", infer="[a] -> ", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x.mean())
    assert outcome(op, "batch invariance").status == "skipped"


def test_a_kernel_is_asked_what_it_declares(short_races):
    """The one that runs by default is fast and not deterministic; the other one is what is required."""
    turn = itertools.count()
    op = oneop.define("di_two(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS, priority=1, deterministic=False)(lambda x: x + next(turn) % 2)
    op.register_kernel("cpu", dtypes=FLOATS, deterministic=True)(lambda x: x)
    assert outcome(op, "determinism").status == "passed"


def test_a_kernel_that_lies():
    turn = itertools.count()
    op = oneop.define("di_lies(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS, priority=1)(lambda x: x)
    op.register_kernel("cpu", dtypes=FLOATS, deterministic=True)(lambda x: x + next(turn) % 2)
    result = outcome(op, "determinism")
    assert result.status == "failed" and "another result when repeated" in result.failure.message


def test_nothing_to_prove():
    op = oneop.define("di_none(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS, deterministic=False)(lambda x: x)
    result = outcome(op, "determinism")
    assert (result.status, result.note) == ("skipped", "its kernels are declared nondeterministic")


def test_only_large_inputs_differ():
    """Threads that share one sum add in any order; small inputs have one thread."""
    turn = itertools.count()
    op = oneop.define("di_large(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x + (next(turn) % 2 if x.size > 50_000 else 0))
    assert outcome(op, "determinism").status == "failed"
