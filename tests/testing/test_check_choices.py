"""Which calls are tried: dtypes that inference takes, sizes that kernels know, values of attributes and integers."""

import functools

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import ArgumentError, OpCheckFailed
from oneop.registry import isolated
from oneop.testing.checker import run_check
from oneop.testing.domain.probe import find_domain
from oneop.testing.subject import Hints, subject_of

DTYPES = {torch.float32: np.float32, torch.float64: np.float64, torch.int64: np.int64, torch.bool: np.bool_}
FLOATS = (torch.float32, torch.float64)
CHECKED_INDEX = """
#include "oneflow/core/framework/framework.h"
using namespace oneflow;
REGISTER_USER_OP("choices_take").Input("x").Input("index").Output("y").NoGrad().SetTensorDescInferFn(
    [](user_op::InferContext* ctx) -> Maybe<void> {
      const DataType dtype = *ctx->Dtype4ArgNameAndIndex("index", 0);
      CHECK_OR_RETURN(dtype == DataType::kInt32 || dtype == DataType::kInt64) << "index is an integer";
      CHECK_EQ_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->NumAxes(), 1) << "x has one axis";
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("index", 0);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    });
class Take final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {  // reads int64 whatever the index is
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const user_op::Tensor* index = ctx->Tensor4ArgNameAndIndex("index", 0);
    const auto* at = static_cast<const int64_t*>(index->dptr<void>());
    float* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    for (int64_t k = 0; k < index->shape().elem_cnt(); ++k) {
      y[k] = at[k] >= 0 && at[k] < x->shape().elem_cnt() ? x->dptr<float>()[at[k]] : 0;
    }
  }
};
REGISTER_USER_KERNEL("choices_take").SetCreateFn<Take>().SetIsMatchedHob(
    (user_op::HobDeviceType() == DeviceType::kCPU) & (user_op::HobDataType("x", 0) == DataType::kFloat));
"""


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def define(schema, kernel, *, dtypes=torch.float32, **options):
    op = oneop.define(f"choices_{schema}", **{"differentiable": False, **options})
    op.register_kernel("cpu", dtypes=dtypes)(kernel)
    return op


def outcome_of(op, family, reference=None):
    (outcome,) = run_check(op, Hints(reference=reference), only=[family]).outcomes
    return outcome


def test_every_dtype_that_inference_takes():
    oneop.load_inline("choices_take", CHECKED_INDEX)
    dtypes = {choice.dtypes[1] for choice in find_domain(subject_of("choices_take", Hints())).choices}
    assert dtypes == {torch.int32, torch.int64}
    outcome = outcome_of("choices_take", "memory")
    assert outcome.status == "failed" and "int32" in outcome.failure.case


def test_no_other_dtype_where_inference_takes_all():
    """Such an op does not say which dtypes it means."""
    op = define(
        "any(Tensor x, Tensor i) -> Tensor y", lambda x, i: x[: len(i)], infer="n, m -> m", dtypes={"x": torch.float32}
    )
    assert len({choice.dtypes[1] for choice in find_domain(subject_of(op, Hints())).choices}) == 1


@pytest.mark.parametrize("size", [64, 80, 96, 128])
def test_sizes_for_which_kernels_have_code_of_their_own(size):
    def kernel(x):
        return (x.sum(-1, keepdims=True) / (x.shape[-1] + (x.shape[-1] == size))) + 0 * x

    op = define("mean(Tensor x) -> Tensor y", kernel, infer="... [n] -> ... [n]")
    op.register_check(lambda x: (x.ndim > 0 and x.shape[-1] > 0) or "nothing to add up")
    outcome = outcome_of(op, "sizes", lambda x: x.mean(-1, keepdim=True).expand_as(x))
    assert outcome.status == "failed" and outcome.failure.case.endswith(f"float32[{size}]")


def test_integers_that_float64_does_not_hold():
    op = oneop.define("choices_isum(Tensor x) -> Tensor y", infer="... [n] -> ...", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.int64)(lambda x: x.astype(np.float64).sum(-1).astype(np.int64))
    outcome = outcome_of(op, "values", lambda x: x.sum(-1))
    assert outcome.status == "failed" and "long" in outcome.failure.case


def test_a_sum_of_integers_is_right():
    op = define("right_isum(Tensor x) -> Tensor y", lambda x: x.sum(-1), infer="... [n] -> ...", dtypes=torch.int64)
    assert outcome_of(op, "values", lambda x: x.sum(-1)).status == "passed"


def test_a_conversion_to_bool():
    op = oneop.define("choices_cast(Tensor x, *, dtype to=torch.float32) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, to: x.like(dtype=to))
    op.register_check(lambda x, to: to in DTYPES or "no such dtype")

    @op.register_kernel("cpu", dtypes=torch.float32)
    def kernel(x, to):
        with np.errstate(all="ignore"):
            return x.astype(np.int64) != 0 if to == torch.bool else x.astype(DTYPES[to])

    outcome = outcome_of(op, "values", lambda x, to=torch.float32: x.to(to))
    assert outcome.status == "failed" and "to=torch.bool" in outcome.failure.case


def test_an_op_that_refuses_its_defaults():
    def kernel(x, low, high):
        y = x if high is None else np.minimum(x, x.dtype.type(high))
        return np.maximum(y, x.dtype.type(low)) if low is not None else y + 0

    op = define("clamp(Tensor x, *, float? low=None, float? high=None) -> Tensor y", kernel, infer="elementwise")
    op.register_check(lambda x, low, high: low is not None or high is not None or "give a bound")
    outcome = outcome_of(op, "reference", lambda x, low=None, high=None: torch.clamp(x, low, high))
    assert outcome.status == "failed", outcome  # low above high: torch gives high
    assert "low=" in outcome.failure.case and "high=" in outcome.failure.case


def gradient_of_rows(rows_of):
    op = define(
        "bias(Tensor x, Tensor b) -> Tensor y", lambda x, b: x + b, infer="r [n], n -> r [n]", differentiable=True
    )
    op.register_grad(lambda ctx, dy: (dy, dy[: rows_of(len(dy))].sum(0)))
    return outcome_of(op, "gradient variants", lambda x, b: x + b)


def test_gradients_of_many_rows():
    assert gradient_of_rows(lambda rows: rows).status == "passed"
    outcome = gradient_of_rows(lambda rows: rows if rows < 2048 else rows // 256 * 256)
    assert outcome.status == "failed" and "[70001, 3]" in outcome.failure.case


def test_a_gradient_beyond_its_dtype_is_infinite():
    op = define(
        "sums(Tensor x) -> Tensor y",
        lambda x: np.cumsum(x, axis=-1, dtype=np.float32).astype(x.dtype),
        infer="... [n] -> ... [n]",
        dtypes=torch.float16,
        differentiable=True,
    )
    op.register_grad(lambda ctx, dy: dy.double().flip(-1).cumsum(-1).flip(-1).to(dy.dtype))
    assert outcome_of(op, "gradient variants", lambda x: x.cumsum(-1)).status == "passed"


def test_a_kernel_that_is_wrong_after_many_calls_is_wrong_in_its_program_too():
    calls = []

    def kernel(x):
        calls.append(None)
        return 2 * x if len(calls) < 300 else 2 * x + 1

    op = define("late(Tensor x) -> Tensor y", kernel, infer="elementwise")
    oneop.testing.reference(op)(lambda x: 2 * x)
    with pytest.raises(OpCheckFailed, match="the result differs from the reference"):
        oneop.testing.repeat(op, "reference", [oneop.testing.tensor_case((3,), torch.float32)])


def test_sums_that_bfloat16_no_longer_holds():
    def sums(x, *, block):
        rows = x.float()
        total = torch.zeros(rows.shape[:-1])
        for part in rows.split(block, -1) if rows.shape[-1] else ():
            total = (total + part.sum(-1)).bfloat16().float()
        return total.to(x.dtype)

    for name, block, status in (("rounded", 64, "failed"), ("whole", 1 << 20, "passed")):
        op = oneop.define(f"choices_sum_{name}(Tensor x) -> Tensor y", infer="... [n] -> ...", differentiable=False)
        op.register_kernel("cpu", dtypes=torch.bfloat16, language="torch")(functools.partial(sums, block=block))
        assert outcome_of(op, "sizes", lambda x: x.sum(-1)).status == status, name


def concatenated(step):
    """The gradient takes each tensor's part from where the tensors before it end, or as if all were like the first."""
    op = oneop.define("choices_cat(Tensor[] xs) -> Tensor y")
    op.register_infer(lambda xs: xs[0].like(shape=(sum(x.shape[0] for x in xs), *xs[0].shape[1:])))
    op.register_check(lambda xs: all(x.ndim and x.shape[1:] == xs[0].shape[1:] for x in xs) or "other axes")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda xs: np.concatenate(xs))

    @op.register_grad
    def grad(ctx, dy):
        parts, at = [], 0
        for x in ctx.xs:
            parts.append(dy.narrow(0, min(at, len(dy) - len(x)), len(x)))
            at += step(ctx.xs, x)
        return (parts,)

    shapes = (((2, 3), (2, 3)), ((1,), (3,), (2,)))
    (outcome,) = run_check(
        op, Hints(shapes=shapes, reference=lambda xs: torch.cat(list(xs))), only=["gradient"]
    ).outcomes
    return outcome


def test_shapes_of_lists_of_any_length():
    assert concatenated(lambda xs, x: len(x)).status == "passed"
    outcome = concatenated(lambda xs, x: len(xs[0]))
    assert outcome.status == "failed" and "xs2" in outcome.failure.case


def test_shapes_of_more_tensors_than_the_op_has():
    op = define("two(Tensor x, Tensor? b) -> Tensor y", lambda x, b: x, infer="elementwise")
    with pytest.raises(ArgumentError) as raised:
        find_domain(subject_of(op, Hints(shapes=(((2,), (2,)), ((2,), (2,), (2,))))))
    assert str(raised.value).startswith(
        'op "choices_two": no call has as many tensors as there are shapes in ((2,), (2,), (2,))\n'
        "  found 3, expected one of: 1, 2\n  defined at "
    )


@pytest.mark.parametrize("name, status", [("more", "passed"), ("less", "failed")])
def test_an_infinity_where_the_reference_has_none(name, status):
    """torch.var_mean has NaN for the mean of infinities, torch.mean an infinity; the other way round it is a fault."""
    op = oneop.define(f"choices_{name}(Tensor x) -> Tensor y", infer="... [n] -> ...", differentiable=False)
    op.register_check(lambda x: (x.ndim > 0 and x.shape[-1] > 0) or "nothing to add up")
    ways = {"more": lambda x: x.mean(-1), "less": lambda x: torch.var_mean(x, -1, correction=0)[1]}
    op.register_kernel("cpu", dtypes=FLOATS, language="torch")(ways.pop(name))
    assert outcome_of(op, "special values", *ways.values()).status == status


@pytest.mark.parametrize("order", [lambda short, long: short <= long, lambda short, long: short >= long])
def test_axes_of_which_one_is_longer(order):
    """As the queries of a causal attention are no more than its keys."""
    op = oneop.define(
        "choices_order(Tensor q, Tensor k) -> Tensor y", infer="l [d], s [d] -> l s", differentiable=False
    )
    op.register_check(lambda q, k: order(q.shape[0], k.shape[0]) or "too long")
    op.register_kernel("cpu", dtypes=torch.float32)(lambda q, k: q @ k.T)
    (choice,) = find_domain(subject_of(op, Hints())).choices
    assert choice.templates[0].axes == (("a", "b"), ("c", "b"))


def test_short_rows_that_cancel_are_right():
    """Among many rows of three elements some are nearly equal: their gradient is the rounding of large numbers."""
    op = oneop.define("choices_norm(Tensor x) -> Tensor y", infer="... [n] -> ... [n]")
    op.register_check(lambda x: (x.ndim > 0 and x.shape[-1] > 0) or "empty rows")

    def parts(x):
        d = x - x.mean(-1, keepdim=True)
        return d, torch.rsqrt((d * d).mean(-1, keepdim=True) + 1e-5)

    @op.register_kernel("cpu", dtypes=torch.float32, language="torch")
    def kernel(x):
        d, r = parts(x.double())
        return (d * r).to(x.dtype)

    @op.register_grad
    def grad(ctx, dy):
        d, r = parts(ctx.x)
        h = d * r
        return r * (dy - dy.mean(-1, keepdim=True) - h * (dy * h).mean(-1, keepdim=True))

    assert (
        outcome_of(op, "gradient variants", lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:])).status
        == "passed"
    )
