// leaky_relu on the GPU: a functor for each formula, and the SDK's elementwise helper.
#include "oneflow/core/cuda/elementwise.cuh"
#include "oneflow/core/device/cuda_util.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/cuda_graph_support.h"

namespace oneflow {

namespace {

// half and bfloat16 are worked out in float.
template <typename T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <typename T>
struct LeakyRelu {
  Real<T> alpha;
  __device__ T operator()(T x) const {
    const Real<T> v = x;
    return static_cast<T>(v > 0 ? v : alpha * v);
  }
};

template <typename T>
struct LeakyReluGrad {
  Real<T> alpha;
  __device__ T operator()(T x, T dy) const {
    return static_cast<Real<T>>(x) > 0 ? dy : static_cast<T>(alpha * static_cast<Real<T>>(dy));
  }
};

// The mixin says that the kernel only launches work on its stream, so that a job may record it in a
// CUDA graph.
template <typename T>
class LeakyReluGpuKernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const LeakyRelu<T> functor{static_cast<Real<T>>(ctx->Attr<double>("alpha"))};
    OF_CUDA_CHECK(cuda::elementwise::Unary(functor, x->shape().elem_cnt(), y->mut_dptr<T>(),
                                           x->dptr<T>(), ctx->device_ctx()->cuda_stream()));
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

template <typename T>
class LeakyReluGradGpuKernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const user_op::Tensor* dy = ctx->Tensor4ArgNameAndIndex("dy", 0);
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    const LeakyReluGrad<T> functor{static_cast<Real<T>>(ctx->Attr<double>("alpha"))};
    OF_CUDA_CHECK(cuda::elementwise::Binary(functor, x->shape().elem_cnt(), dx->mut_dptr<T>(),
                                            x->dptr<T>(), dy->dptr<T>(),
                                            ctx->device_ctx()->cuda_stream()));
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

#define REGISTER_GPU_KERNELS(dtype)                                                  \
  REGISTER_USER_KERNEL("leaky_relu")                                                 \
      .SetCreateFn<LeakyReluGpuKernel<dtype>>()                                      \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCUDA) &             \
                       (user_op::HobDataType("x", 0) == GetDataType<dtype>::value)); \
  REGISTER_USER_KERNEL("leaky_relu_grad")                                            \
      .SetCreateFn<LeakyReluGradGpuKernel<dtype>>()                                  \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCUDA) &             \
                       (user_op::HobDataType("x", 0) == GetDataType<dtype>::value));

REGISTER_GPU_KERNELS(float)
REGISTER_GPU_KERNELS(double)
REGISTER_GPU_KERNELS(half)
REGISTER_GPU_KERNELS(nv_bfloat16)

}  // namespace

}  // namespace oneflow
