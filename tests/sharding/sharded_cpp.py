"""Ops of C++ for calls with DTensors. The library is built before the ranks start."""

import oneop

SOURCE = r"""
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"
namespace oneflow {
namespace {

using user_op::OpArg;

template <class F>
void Fill(user_op::KernelComputeContext* ctx, const F& value) {
  auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
  for (int64_t i = 0; i < y->shape().elem_cnt(); ++i) { y->mut_dptr<double>()[i] = value(i); }
}
const double* X(user_op::KernelComputeContext* ctx) { return ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<double>(); }

#define KERNEL(NAME, ...)                                                      \
  class NAME final : public user_op::OpKernel {                                \
    void Compute(user_op::KernelComputeContext* ctx) const override { __VA_ARGS__ } \
    bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }   \
  };

// An attribute that only the kernel reads, and one that a check reads.
REGISTER_USER_OP("c_scale").Input("x").Output("y").Attr<double>("by", 2.0).NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper&, const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      CHECK_OR_RETURN(conf.attr<double>("by") != 0.0);
      return Maybe<void>::Ok();
    })
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      JUST(user_op::GetSbpFnUtil::SplitForEachAxis(ctx));
      ctx->NewBuilder().PartialSum(ctx->inputs()).PartialSum(ctx->outputs()).Build();
      return Maybe<void>::Ok();
    });
KERNEL(Scale, const double by = ctx->Attr<double>("by"); Fill(ctx, [&](int64_t i) { return by * X(ctx)[i]; });)
REGISTER_USER_KERNEL("c_scale").SetCreateFn<Scale>();

// An attribute that only the SBP function reads.
REGISTER_USER_OP("c_copy").Input("x").Output("y").Attr<int32_t>("axis", 0).Attr<float>("unread", 0.f).NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      const int32_t axis = ctx->Attr<int32_t>("axis");
      ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
      return Maybe<void>::Ok();
    });
KERNEL(Copy, Fill(ctx, [&](int64_t i) { return X(ctx)[i]; });)
REGISTER_USER_KERNEL("c_copy").SetCreateFn<Copy>();

// The attribute is the whole shape; a device has its part of the rows.
REGISTER_USER_OP("c_expand").Input("x").Output("y").Attr<Shape>("shape").NoGrad()
    .SetLogicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputShape("y", 0, ctx->Attr<Shape>("shape"));
      return Maybe<void>::Ok();
    })
    .SetPhysicalTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputShape("y", 0, Shape({ctx->InputShape("x", 0).At(0), ctx->Attr<Shape>("shape").At(1)}));
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType)
    .SetGetSbpFn([](user_op::SbpContext* ctx) -> Maybe<void> {
      ctx->NewBuilder().Split(OpArg("x", 0), 0).Split(OpArg("y", 0), 0).Build();
      return Maybe<void>::Ok();
    });
KERNEL(Expand, const int64_t n = ctx->Tensor4ArgNameAndIndex("y", 0)->shape().At(1);
       Fill(ctx, [&](int64_t i) { return X(ctx)[i / n]; });)
REGISTER_USER_KERNEL("c_expand").SetCreateFn<Expand>();

// Its own function decides: rows, on every dimension of the mesh.
REGISTER_USER_OP("c_rows").Input("x").Output("y").NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetNdSbpInferFn([](user_op::InferNdSbpFnContext* ctx) -> Maybe<void> {
      const int dims = ctx->NdSbpHint4InputArgNameAndIndex("x", 0).sbp_parallel_size();
      for (const char* name : {"x", "y"}) {
        NdSbp* sbp = ctx->NdSbp4ArgNameAndIndex(name, 0);
        sbp->clear_sbp_parallel();
        for (int i = 0; i < dims; ++i) { sbp->add_sbp_parallel()->mutable_split_parallel()->set_axis(0); }
      }
      return Maybe<void>::Ok();
    });
REGISTER_USER_KERNEL("c_rows").SetCreateFn<Copy>();

// Random numbers from a seed: the kernel asks where it runs, as OneFlow's do.
REGISTER_USER_OP("c_noise").Input("x").Output("y").Attr<int64_t>("seed", 7).NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
KERNEL(Noise, const bool is_split = ctx->parallel_ctx().parallel_num() > 1 &&
                                    ctx->SbpParallel4ArgNameAndIndex("y", 0).has_split_parallel();
       const int64_t seed = ctx->Attr<int64_t>("seed") + (is_split ? 1000 * ctx->parallel_ctx().parallel_id() : 0);
       Fill(ctx, [&](int64_t i) { return static_cast<double>((seed + i) % 1000003); });)
REGISTER_USER_KERNEL("c_noise").SetCreateFn<Noise>();

// Its gradient is made of torch's ops, which DTensor knows by itself.
REGISTER_USER_OP("c_weighted").Input("x").Input("w").Output("y")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
KERNEL(Weighted, const double* w = ctx->Tensor4ArgNameAndIndex("w", 0)->dptr<double>();
       Fill(ctx, [&](int64_t i) { return w[i] * X(ctx)[i]; });)
REGISTER_USER_KERNEL("c_weighted").SetCreateFn<Weighted>();

// What a kernel is told: its number, the number of devices, the whole rows, and the axis that y is split along.
REGISTER_USER_OP("c_where").Input("x").Output("y").NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
KERNEL(Where, const auto place = ctx->parallel_ctx();
       const int64_t rows = ctx->LogicalTensorDesc4ArgNameAndIndex("x", 0)->shape().At(0);
       const bool is_split = place.parallel_num() > 1 && ctx->SbpParallel4ArgNameAndIndex("y", 0).has_split_parallel();
       const double axis = is_split ? ctx->SbpParallel4ArgNameAndIndex("y", 0).split_parallel().axis() : -1;
       const double facts[4] = {double(place.parallel_id()), double(place.parallel_num()), double(rows), axis};
       Fill(ctx, [&](int64_t i) { return facts[i % 4]; });)
REGISTER_USER_KERNEL("c_where").SetCreateFn<Where>();

class WeightedGrad : public one::OpExprGradFunction<one::AutoGradCaptureState> {
  using State = one::AutoGradCaptureState;
  Maybe<void> Init(const one::OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(State* ctx, const one::TensorTuple& inputs, const one::TensorTuple&,
                      const AttrMap&) const override {
    ctx->SaveTensorForBackward(inputs.at(0));
    ctx->SaveTensorForBackward(inputs.at(1));
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const State* ctx, const one::TensorTuple& dys, one::TensorTuple* dxs) const override {
    dxs->resize(2);
    for (int i = 0; i < 2; ++i) {
      const auto grad = JUST(one::functional::Call("aten::mul.Tensor", ctx->SavedTensors().at(1 - i), dys.at(0)));
      CHECK_EQ_OR_RETURN(*grad->shape(), *dys.at(0)->shape());
      (*dxs)[i] = grad;
    }
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("c_weighted", WeightedGrad);

}  // namespace
}  // namespace oneflow
"""


def load():
    """Build the library, once for all processes, and load it."""
    return oneop.load_inline("sharded_cpp", SOURCE)
