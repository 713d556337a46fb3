// Ops for tests on a GPU: one that reads an input on the host, and kernels that fail.
#include "oneflow/core/device/cuda_util.h"
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> SameAsX(user_op::InferContext* ctx) {
  *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
  *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
  return Maybe<void>::Ok();
}

__global__ void Scale(int n, float factor, const float* x, float* y) {
  CUDA_1D_KERNEL_LOOP(i, n) { y[i] = factor * x[i]; }
}
__global__ void Trap() { __trap(); }

REGISTER_USER_OP("gpu_scaled").Input("x").Input("factor").Output("y").SetTensorDescInferFn(SameAsX);
REGISTER_OP_HOST_MEMORY_INPUT("gpu_scaled", "factor", 0);

class ScaledKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const float factor = ctx->Tensor4ArgNameAndIndex("factor", 0)->dptr<float>()[0];
    RUN_CUDA_KERNEL(Scale, ctx->device_ctx(), x->shape().elem_cnt(), x->shape().elem_cnt(), factor,
                    x->dptr<float>(), ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("gpu_scaled")
    .SetCreateFn<ScaledKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kGPU);

// Not CudaGraphSupport: a recording of its stream would fail.
REGISTER_USER_OP("gpu_synchronises").Input("x").Output("y").SetTensorDescInferFn(SameAsX);
class SynchronisingKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    OF_CUDA_CHECK(cudaStreamSynchronize(ctx->stream()->As<ep::CudaStream>()->cuda_stream()));
    RUN_CUDA_KERNEL(Scale, ctx->device_ctx(), x->shape().elem_cnt(), x->shape().elem_cnt(), 2.0f,
                    x->dptr<float>(), ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("gpu_synchronises")
    .SetCreateFn<SynchronisingKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCUDA);

REGISTER_USER_OP("gpu_bad_launch").Input("x").Output("y").SetTensorDescInferFn(SameAsX);
class BadLaunchKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    Trap<<<1, 4096, 0, ctx->stream()->As<ep::CudaStream>()->cuda_stream()>>>();  // too many threads
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("gpu_bad_launch")
    .SetCreateFn<BadLaunchKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCUDA);

REGISTER_USER_OP("gpu_trap").Input("x").Output("y").SetTensorDescInferFn(SameAsX);
class TrapKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    Trap<<<1, 1, 0, ctx->stream()->As<ep::CudaStream>()->cuda_stream()>>>();
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("gpu_trap")
    .SetCreateFn<TrapKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCUDA);

}  // namespace
}  // namespace oneflow
