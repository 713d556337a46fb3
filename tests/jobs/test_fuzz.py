"""Random graphs of torch and oneop ops: planned execution equals eager."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import oneop

UNARY = ["neg", "sin", "relu", "abs", "square", "sigmoid"]
BINARY = ["add", "mul", "sub", "maximum"]
SHAPES = [
    "t",
    "contiguous",
    "view",
    "slice",
    "expand",
    "cat",
    "sum_keep",
    "matmul",
    "ours",
    "ours_parallel",
    "inplace",
    "copy",
]

steps = st.lists(
    st.tuples(st.sampled_from(UNARY + BINARY + SHAPES), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=14
)


def run_body(program, results, x, y):
    values = [x, y]
    for name, a, b in program:
        first, second = values[a % len(values)], values[b % len(values)]
        values.append(one_step(name, first, second))
    return tuple(values[r % len(values)] for r in results)


def one_step(name, a, b):
    if name in UNARY:
        return getattr(torch, name)(a)
    if name in BINARY:
        return getattr(torch, name)(a, b)
    if name == "t":
        return a.t()
    if name == "contiguous":
        return a.contiguous()
    if name == "view":
        return a.reshape(2, -1).reshape(4, 4)
    if name == "slice":
        return a[:, :1] * b
    if name == "expand":
        return a[:1].expand(4, 4)
    if name == "cat":
        return torch.cat([a[:2], b[2:]])
    if name == "sum_keep":
        return a.sum(1, keepdim=True) * 0.1 + b
    if name == "matmul":
        return (a @ b) * 0.1
    if name == "ours":
        return oneop.ops.leaky_relu(a, alpha=0.3)
    if name == "ours_parallel":
        return oneop.ops.leaky_relu_parallel(a, alpha=-0.5)
    if name == "inplace":
        return (a * 1).add_(b)
    return a.clone()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps, st.lists(st.integers(0, 20), min_size=1, max_size=4), st.integers(0, 5))
def test_planned_equals_eager(leaky_relu, program, results, seed):
    torch.manual_seed(seed)
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    job = oneop.compile_job(lambda x, y: run_body(program, results, x, y), [x, y])
    for _ in range(2):  # the second run finds buffers that the first has used
        for found, expected in zip(job(x, y), run_body(program, results, x.clone(), y.clone()), strict=True):
            torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
        x, y = torch.randn(4, 4), torch.randn(4, 4)


IN_PLACE = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
namespace {
REGISTER_USER_OP("fuzz_shift").Input("x").Output("y").Attr<float>("by", 1.0f).SetTensorDescInferFn(
    [](user_op::InferContext*) -> Maybe<void> { return Maybe<void>::Ok(); });
class ShiftKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const float by = ctx->Attr<float>("by");
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) { y->mut_dptr<float>()[i] = x->dptr<float>()[i] + by; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fuzz_shift")
    .SetCreateFn<ShiftKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU)
    .SetInplaceProposalFn([](const user_op::InferContext&, user_op::AddInplaceArgPair add) -> Maybe<void> {
      OF_RETURN_IF_ERROR(add("y", 0, "x", 0, true));
      return Maybe<void>::Ok();
    });
}  // namespace
}  // namespace oneflow
"""


@pytest.fixture(scope="module")
def shift():
    return oneop.load_inline("fuzz_in_place", IN_PLACE).fuzz_shift


def test_in_place_proposals_are_used(shift):
    def chain(x):
        for _ in range(6):
            x = shift(x)
        return x * 1

    job = oneop.compile_job(chain, [torch.zeros(100)])
    assert sum(step.in_place for step in job.compiled.plan.steps) >= 5
    assert job.compiled.plan.memory.size == 448  # one buffer for the whole chain
    torch.testing.assert_close(job(torch.ones(100)), torch.full((100,), 7.0))


def test_nothing_is_written_over_that_is_still_read(shift):
    """The last reader of a buffer reads it twice, once turned."""

    def turned(x):
        y = shift(x)
        return (y + y.t()) * 1

    x = torch.randn(4, 4)
    assert torch.equal(oneop.compile_job(turned, [x])(x), turned(x))


def test_equal_calls_that_are_changed_stay_apart():
    def body(x):
        first, second = x * 1, x * 1
        first.add_(x)
        second.view(-1).add_(1)
        return first, second

    x = torch.randn(4, 4)
    for found, expected in zip(oneop.compile_job(body, [x])(x), body(x), strict=True):
        assert torch.equal(found, expected)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["shift", "add", "t", "ours"]), st.integers(0, 20), st.integers(0, 20)),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 20),
)
def test_in_place_equals_eager(leaky_relu, shift, program, result):
    def body(x):
        values = [x * 1]
        for name, a, b in program:
            first, second = values[a % len(values)], values[b % len(values)]
            if name == "shift":
                values.append(shift(first, by=0.5))
            elif name == "add":
                values.append(first + second)
            elif name == "t":
                values.append(first.t())
            else:
                values.append(leaky_relu(first, alpha=0.5))
        return values[result % len(values)], values[-1]

    x = torch.randn(4, 4)
    job = oneop.compile_job(body, [x])
    for _ in range(2):
        for found, expected in zip(job(x), body(x), strict=True):
            assert torch.equal(found, expected)
