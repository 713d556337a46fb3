"""Calls that an op takes and nothing declares: indices below an attribute, dtypes of indices, values left out."""

import numpy as np
import pytest
import torch

import oneop
from oneop.registry import isolated
from oneop.testing.checker import run_check
from oneop.testing.families import memory
from oneop.testing.memory.cuda_child import NotDefinedAgainError, first_cuda_death
from oneop.testing.memory.flush import FlushCall
from oneop.testing.repeating import repeated_case, tensor_case
from oneop.testing.subject import Hints


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def shape_of_sum(x, ids, count):
    if x.ndim != 2 or ids.shape != x.shape[:1]:
        raise ValueError("expected a matrix, and an index for each row of it")
    return oneop.TensorSpec((count, x.shape[1]), x.dtype)


def segment_sum(dtypes, *, count="int count", adds=np.add.at):
    op = oneop.define(f"accepted_sum(Tensor x, Tensor ids, {count}) -> Tensor y")
    op.register_infer(shape_of_sum)

    @op.register_kernel("cpu", dtypes=dtypes)
    def kernel(x, ids, count):
        if ids.dtype != np.int64:
            raise TypeError("ids: expected int64")
        if ids.size and not 0 <= ids.min() <= ids.max() < count:
            raise ValueError(f"ids: expected 0 to {count - 1}")
        y = np.zeros((count, x.shape[1]), x.dtype)
        adds(y, ids, x)
        return y

    op.register_grad(lambda ctx, dy: (dy[ctx.ids], None))
    return op


def reference(x, ids, count):
    return x.new_zeros(count, x.shape[1]).index_add(0, ids, x)


DECLARED = {"x": (torch.float32, torch.float64), "ids": torch.int64}
FIRST = (torch.float32, torch.float64)


KINDS = [(DECLARED, "int count"), (FIRST, "int count"), (DECLARED, "int count=4")]


@pytest.mark.parametrize(("dtypes", "count"), KINDS)
def test_indices_below_an_attribute(dtypes, count, short_races):
    op = segment_sum(dtypes, count=count)
    is_first = (dtypes, count) == KINDS[0]
    more = ("gradient", "vmap", "memory", "determinism", "sizes", "opcheck") if is_first else ()
    report = run_check(op, Hints(), only=("inference", "layouts", *more))
    assert report.ok, str(report)
    inputs, *others = report.outcomes
    assert "ids from 0 to 7" in inputs.note and "count 8 or 64" in inputs.note and "ids: expected" in inputs.note
    assert ("ids as int64" in inputs.note) == (dtypes is FIRST)
    cases = {outcome.family: outcome.cases for outcome in others}
    assert cases["layouts"] > 24, str(report)
    assert not is_first or (cases["determinism"] > 24 and cases["sizes"] >= 8), str(report)


def test_a_fault_behind_indices_is_found():
    """The last row is left out, which no call shows whose indices stay below every size."""

    def adds(y, ids, x):
        np.add.at(y, np.minimum(ids, 6), x)

    report = run_check(segment_sum(DECLARED, adds=adds), Hints(reference=reference), only=["reference", "sizes"])
    assert [outcome.family for outcome in report.failures], str(report)


def test_torch_checks_no_call_that_the_op_refuses():
    op = oneop.define("accepted_root(Tensor x) -> Tensor y", infer="x -> x")

    @op.register_kernel("cpu", dtypes=torch.float32)
    def root(x):
        raise ValueError("expected a number from the future")

    (_, outcome) = run_check(op, Hints(reference=root), only=["opcheck"]).outcomes
    assert outcome.status == "skipped"


@pytest.mark.parametrize("left_out", ["x != x", "x == 0"])
def test_values_whose_results_are_not_written(left_out):
    source = f"""
    #include <cmath>
    #include "oneop/op.h"
    using namespace oneop;
    OP("accepted_gap(Tensor x) -> Tensor y").same_shape().kernel<float>([](auto in, auto out) {{
      for (int64_t i = 0; i < in.numel(); ++i) {{
        const float x = in[i];
        if (!({left_out})) out[i] = 2 * x;
      }}
    }}).no_grad();
    """
    oneop.load_inline(f"accepted_gaps_{len(left_out)}", source)
    (outcome,) = run_check("accepted_gap", Hints(), only=["memory"]).outcomes
    assert outcome.status == "failed" and "y" in outcome.failure.message, outcome


def test_numbers_that_no_seed_decides():
    op = oneop.define("accepted_noise(Tensor x) -> Tensor y", infer="x -> x", random=True)
    generator = torch.Generator()

    @op.register_kernel("cpu", dtypes=torch.float32, language="torch")
    def noise(x):
        return x + torch.rand(x.shape, generator=generator)

    (outcome,) = run_check(op, Hints(), only=["determinism"]).outcomes
    assert outcome.status == "failed" and "draw them from torch's generator" in outcome.failure.message


def test_an_op_that_no_file_defines_is_not_tried_in_a_new_process(monkeypatch):
    """Such as one of a function. On a GPU the process that may end is a new one, not a fork."""
    op = oneop.define("accepted_twice(Tensor x) -> Tensor y", infer="x -> x", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: 2 * x)
    case = repeated_case("accepted_twice", "memory", [tensor_case((3,), torch.float32)])
    many = [FlushCall(case, 0, True)] * 1200  # as a program they are longer than an argument may be
    with pytest.raises(NotDefinedAgainError):
        first_cuda_death(many)
    monkeypatch.setattr(memory, "beside_unmapped", lambda cases: first_cuda_death(many[:1]))
    (outcome,) = run_check(op, Hints(), only=["memory"]).outcomes
    assert outcome.status == "partial" and "does not define the op" in outcome.note
