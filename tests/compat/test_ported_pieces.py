"""What ops of OneFlow say and use, in a library: batch axes of 2020; strided indices and complex scalars of 2024."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.errors import CheckError

OPS = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
Maybe<void> Same(user_op::InferContext* ctx) {
  *ctx->TensorDesc4ArgNameAndIndex("out", 0) = *ctx->TensorDesc4ArgNameAndIndex("in", 0);
  return Maybe<void>::Ok();
}
REGISTER_USER_OP("axis_moved").Input("in").Output("out").NoGrad().SetTensorDescInferFn(Same)
    .SetBatchAxisInferFn([](user_op::BatchAxisContext* ctx) -> Maybe<void> {
      const auto* in = ctx->BatchAxis4ArgNameAndIndex("in", 0);
      CHECK_OR_RETURN(in->has_value()) << "in has no batch";
      ctx->BatchAxis4ArgNameAndIndex("out", 0)->set_value(in->value() + 1);
      return Maybe<void>::Ok();
    });
REGISTER_USER_OP("axis_dropped").Input("in").Output("out").NoGrad().SetTensorDescInferFn(Same)
    .SetBatchAxisInferFn(user_op::BatchAxisInferFnUtil::DefaultAsClearHasValue);
REGISTER_USER_OP("axis_unsaid").Input("in").Output("out").NoGrad().SetTensorDescInferFn(Same);
REGISTER_USER_OP("axis_agreed").Input("in", 2).Output("out").NoGrad().SetTensorDescInferFn(Same)
    .SetBatchAxisInferFn(user_op::BatchAxisInferFnUtil::NaiveInferBatchAxis);
class Nothing final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext*) const override {}
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("axis_moved").SetCreateFn<Nothing>();
REGISTER_USER_KERNEL("axis_dropped").SetCreateFn<Nothing>();
REGISTER_USER_KERNEL("axis_unsaid").SetCreateFn<Nothing>();
REGISTER_USER_KERNEL("axis_agreed").SetCreateFn<Nothing>();
}
"""
PIECES = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("pick_strided").Input("in").Output("out").NoGrad()
    .Attr<Shape>("size").Attr<std::vector<int64_t>>("strides")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputShape("out", 0, ctx->Attr<Shape>("size"));
      ctx->SetOutputDType("out", 0, ctx->InputDType("in", 0));
      return Maybe<void>::Ok();
    });
// Through the index of each element, and its offset turned into an index again.
class Pick final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto& size = ctx->Attr<Shape>("size");
    const auto& strides = ctx->Attr<std::vector<int64_t>>("strides");
    const int n = size.NumAxes();
    const NdIndexOffsetHelper<int64_t, 4> dense(size.ptr(), n);
    const NdIndexStrideOffsetHelper<int64_t, 4> strided(strides.data(), n);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    for (int64_t i = 0; i != size.elem_cnt(); ++i) {
      int64_t index[4], again[4];
      dense.OffsetToNdIndex(i, index, n);
      const int64_t offset = strided.NdIndexToOffset(index, n);
      strided.OffsetToNdIndex(offset, again, n);
      CHECK_EQ(strided.NdIndexToOffset(again, n), offset);
      out->mut_dptr<float>()[i] = ctx->Tensor4ArgNameAndIndex("in", 0)->dptr<float>()[offset];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("pick_strided").SetCreateFn<Pick>();

REGISTER_USER_OP("scalar_parts").Input("in").Output("out").NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
class Parts final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const double* in = ctx->Tensor4ArgNameAndIndex("in", 0)->dptr<double>();
    double* out = ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<double>();
    const Scalar both(std::complex<double>(in[0], in[1])), real(in[2]), whole(int64_t{3});
    CHECK(both.IsComplex() && !real.IsComplex());
    out[0] = both.Value<std::complex<double>>().real();
    out[1] = both.Value<std::complex<double>>().imag();
    out[2] = real.Value<std::complex<double>>().real() + real.Value<std::complex<double>>().imag();
    out[3] = both.Value<double>() + whole.Value<std::complex<float>>().real();
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("scalar_parts").SetCreateFn<Parts>();
}
"""


@pytest.fixture(scope="module")
def axes():
    oneop.load_inline("batch_axes", OPS, defines={"ONEOP_PORT": 2020})

    def ask(op, *axes, shape=(2, 3)):
        inputs = [torch.zeros(shape) for _ in axes]
        call = oneop.user_op_builder("it").Op(op).Input("in", inputs).Output("out").Build()
        return call.InferAndTryRun().infer_batch_axes(list(axes))[0]

    return ask


def test_batch_axes(axes):
    assert axes("axis_moved", 0) == 1
    assert axes("axis_dropped", 1) is None
    assert axes("axis_unsaid", 1) == 1 and axes("axis_unsaid", None) is None
    with pytest.raises(CheckError, match="in has no batch"):
        axes("axis_moved", None)
    with pytest.raises(CheckError, match="batch axes: output 0 has 2 dimensions, found axis 2"):
        axes("axis_moved", 1)


def test_batch_axes_that_differ(axes):
    assert axes("axis_agreed", 1, 1) == 1 and axes("axis_agreed", None, 1) == 1 and axes("axis_agreed", 0, None) == 0
    assert axes("axis_agreed", None, None) is None
    with pytest.raises(RuntimeError, match='must have the same batch axis; "in" has 1, an input before it has 0'):
        axes("axis_agreed", 0, 1)


@pytest.fixture(scope="module")
def pieces():
    return oneop.load_inline("ported_pieces", PIECES, defines={"ONEOP_PORT": 2024})


@given(size=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
@settings(max_examples=60, deadline=None)
def test_strided_indices(pieces, size, data):
    strides, step = [], 1
    for extent in reversed(size):  # gaps between rows, and dimensions that repeat
        step += data.draw(st.integers(0, 2))
        strides.insert(0, 0 if data.draw(st.booleans()) else step)
        step *= extent
    x = torch.rand(step + 1)
    ours = oneop.ops.pick_strided(x, size=size, strides=strides)
    assert torch.equal(ours, torch.as_strided(x, size, strides))


def test_complex_scalars(pieces):
    x = torch.tensor([1.5, -2.0, 0.25, 0.0], dtype=torch.float64)
    assert oneop.ops.scalar_parts(x).tolist() == [1.5, -2.0, 0.25, 4.5]
