// tests/engine/ops.cpp: the op library that the engine's tests load.
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> SameAsX(user_op::InferContext* ctx) {
  *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
  *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();
}

Maybe<void> SplitEachAxis(user_op::SbpContext* ctx) {
  const int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex("x", 0).shape().NumAxes();
  for (int64_t axis = 0; axis < axes; ++axis) {
    ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
  }
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("scale")
    .Input("x")
    .Output("y")
    .Attr<float>("by", 2.0f)
    .SetTensorDescInferFn(SameAsX)
    .SetGetSbpFn(SplitEachAxis)
    .SetComputeComplexityFn([](user_op::ComputeComplexityFnContext* ctx) -> Maybe<double> {
      return ctx->Shape4ArgNameAndIndex("y", 0).elem_cnt();
    });

class Scale final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<float>();
    auto* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    const auto by = ctx->Attr<float>("by");
    for (int64_t i = 0; i < ctx->Tensor4ArgNameAndIndex("y", 0)->shape().elem_cnt(); ++i) {
      y[i] = by * x[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("scale").SetCreateFn<Scale>().SetIsMatchedHob(
    (user_op::HobDeviceType() == DeviceType::kCPU) &&
    (user_op::HobDataType("x", 0) == DataType::kFloat));

REGISTER_USER_OP_GRAD("scale").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
  const std::string name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("scale")
        .InputBind("x", ctx->FwOp().output_grad("y", 0))
        .Attr("by", ctx->FwOp().attr<float>("by"))
        .Output("y")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0),
                            [&ctx, &name]() { return ctx->GetOp(name).output("y", 0); });
});

// Its kernel counts its calls.
REGISTER_USER_OP("count").Input("x").Output("y").NoGrad().SetTensorDescInferFn(SameAsX);

struct Counter final : public user_op::OpKernelState {
  float calls = 0;
};

class Count final : public user_op::OpKernel {
 public:
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(
      user_op::KernelInitContext*) const override {
    return std::make_shared<Counter>();
  }

 private:
  using user_op::OpKernel::Compute;
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState* state) const override {
    ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>()[0] =
        ++dynamic_cast<Counter*>(state)->calls;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return true; }
};
REGISTER_USER_KERNEL("count").SetCreateFn<Count>().SetIsMatchedHob(user_op::HobDeviceType() ==
                                                                   DeviceType::kCPU);

// Gives the positive elements.
REGISTER_USER_OP("positive")
    .Input("x")
    .Output("y")
    .NoGrad()
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);
      *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
      *ctx->OutputIsDynamic("y", 0) = true;
      return Maybe<void>::Ok();
    });

class Positive final : public user_op::OpKernel {
 private:
  using user_op::OpKernel::Compute;
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    int64_t count = 0;
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) {
      if (x->dptr<float>()[i] > 0) {
        y->mut_dptr<float>()[count++] = x->dptr<float>()[i];
      }
    }
    y->mut_shape()->Set(0, count);
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("positive").SetCreateFn<Positive>().SetIsMatchedHob(user_op::HobTrue());

// Inference refuses every call.
REGISTER_USER_OP("picky").Input("x").Output("y").NoGrad().SetTensorDescInferFn(
    [](user_op::InferContext*) -> Maybe<void> {
      CHECK_OR_RETURN(false) << "never satisfied";
      return Maybe<void>::Ok();
    });

}  // namespace
}  // namespace oneflow
