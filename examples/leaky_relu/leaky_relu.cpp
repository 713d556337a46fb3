// leaky_relu: one op, its CPU kernels and its gradient; then the same op on all cores.
#include "oneflow/core/framework/framework.h"

namespace oneflow {

namespace {

// 1. The ops: what goes in, what comes out, and of which shape and type.

Maybe<void> InferSameAsX(user_op::InferContext* ctx) {
  *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
  *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("leaky_relu")
    .Input("x")
    .Output("y")
    .Attr("alpha", UserOpAttrType::kAtDouble, 0.01)
    .SetTensorDescInferFn(InferSameAsX);

REGISTER_USER_OP("leaky_relu_parallel")
    .Input("x")
    .Output("y")
    .Attr("alpha", UserOpAttrType::kAtDouble, 0.01)
    .SetTensorDescInferFn(InferSameAsX);

REGISTER_USER_OP("leaky_relu_grad")
    .Input("x")
    .Input("dy")
    .Output("dx")
    .Attr("alpha", UserOpAttrType::kAtDouble, 0.01)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("x", 0), *ctx->Shape4ArgNameAndIndex("dy", 0));
      *ctx->Shape4ArgNameAndIndex("dx", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("dx", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    })
    // dx depends on x only through its sign, so no gradient flows to x.
    .SetInputArgModifyFn([](user_op::GetInputArgModifier modifier,
                            const user_op::UserOpConfWrapper&) -> Maybe<void> {
      modifier("x", 0)->set_requires_grad(false);
      return Maybe<void>::Ok();
    });

// 2. The kernels: plain loops, which the default flags vectorise.

template <typename T>
void LeakyRelu(const int64_t n, const T alpha, const T* x, T* y) {
  for (int64_t i = 0; i != n; ++i) {
    y[i] = x[i] > 0 ? x[i] : alpha * x[i];
  }
}

template <typename T>
void LeakyReluGrad(const int64_t n, const T alpha, const T* x, const T* dy, T* dx) {
  for (int64_t i = 0; i != n; ++i) {
    dx[i] = x[i] > 0 ? dy[i] : alpha * dy[i];
  }
}

template <DeviceType device_type, typename T>
class LeakyReluKernel final : public user_op::OpKernel {
 public:
  LeakyReluKernel() = default;
  ~LeakyReluKernel() = default;

 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    LeakyRelu<T>(x->shape().elem_cnt(), ctx->Attr<double>("alpha"), x->dptr<T>(), y->mut_dptr<T>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

template <DeviceType device_type, typename T>
class LeakyReluParallelKernel final : public user_op::OpKernel {
 public:
  LeakyReluParallelKernel() = default;
  ~LeakyReluParallelKernel() = default;

 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const T* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("y", 0);
    T* y = out->mut_dptr<T>();
    const T alpha = ctx->Attr<double>("alpha");
    // Pieces of at least 32768 elements on torch's thread pool; less work than that stays here.
    oneop::parallel_for(ctx, 0, out->shape().elem_cnt(), 32768, [=](int64_t begin, int64_t end) {
      LeakyRelu<T>(end - begin, alpha, x + begin, y + begin);
    });
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

template <DeviceType device_type, typename T>
class LeakyReluGradKernel final : public user_op::OpKernel {
 public:
  LeakyReluGradKernel() = default;
  ~LeakyReluGradKernel() = default;

 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const user_op::Tensor* dy = ctx->Tensor4ArgNameAndIndex("dy", 0);
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    LeakyReluGrad<T>(x->shape().elem_cnt(), ctx->Attr<double>("alpha"), x->dptr<T>(), dy->dptr<T>(),
                     dx->mut_dptr<T>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

#define REGISTER_LEAKY_RELU_KERNEL(op, kernel, device, dtype)                    \
  REGISTER_USER_KERNEL(op).SetCreateFn<kernel<device, dtype>>().SetIsMatchedHob( \
      (user_op::HobDeviceType() == device) &                                     \
      (user_op::HobDataType("x", 0) == GetDataType<dtype>::value));

REGISTER_LEAKY_RELU_KERNEL("leaky_relu", LeakyReluKernel, DeviceType::kCPU, float)
REGISTER_LEAKY_RELU_KERNEL("leaky_relu", LeakyReluKernel, DeviceType::kCPU, double)
REGISTER_LEAKY_RELU_KERNEL("leaky_relu_parallel", LeakyReluParallelKernel, DeviceType::kCPU, float)
REGISTER_LEAKY_RELU_KERNEL("leaky_relu_parallel", LeakyReluParallelKernel, DeviceType::kCPU, double)
REGISTER_LEAKY_RELU_KERNEL("leaky_relu_grad", LeakyReluGradKernel, DeviceType::kCPU, float)
REGISTER_LEAKY_RELU_KERNEL("leaky_relu_grad", LeakyReluGradKernel, DeviceType::kCPU, double)

// 3. The gradients. Both forward ops share one backward op, and it has a gradient itself, so that
// backward can be differentiated again.

void LeakyReluBackward(user_op::BackwardOpConfContext* ctx) {
  const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(grad_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("leaky_relu_grad")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Attr("alpha", ctx->FwOp().attr<double>("alpha"))
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&ctx, &grad_op_name]() {
    return ctx->GetOp(grad_op_name).output("dx", 0);
  });
}

REGISTER_USER_OP_GRAD("leaky_relu").SetBackwardOpConfGenFn(LeakyReluBackward);
REGISTER_USER_OP_GRAD("leaky_relu_parallel").SetBackwardOpConfGenFn(LeakyReluBackward);

// dx is linear in dy: its gradient is the same op once more.
REGISTER_USER_OP_GRAD("leaky_relu_grad")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
      const auto grad_op_name = ctx->FwOp().op_name() + "_grad";
      ctx->DefineOp(grad_op_name, [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("leaky_relu_grad")
            .InputBind("x", ctx->FwOp().input("x", 0))
            .InputBind("dy", ctx->FwOp().output_grad("dx", 0))
            .Output("dx")
            .Attr("alpha", ctx->FwOp().attr<double>("alpha"))
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("dy", 0), [&ctx, &grad_op_name]() {
        return ctx->GetOp(grad_op_name).output("dx", 0);
      });
    });

}  // namespace

}  // namespace oneflow
