// fast_gelu: y = x / 2 * (1 + tanh(c * (x + k * x^3))).
#include <cmath>

#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

REGISTER_USER_OP("fast_gelu")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);

template <typename T>
class FastGelu final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    T* out = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    constexpr T c = T(0.7978845608028654);
    constexpr T k = T(0.044715);
    for (int64_t i = 0, n = x->shape().elem_cnt(); i != n; ++i) {
      out[i] = T(0.5) * in[i] * (T(1) + std::tanh(c * (in[i] + k * in[i] * in[i] * in[i])));
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

#define REGISTER_FAST_GELU(T)                                           \
  REGISTER_USER_KERNEL("fast_gelu")                                     \
      .SetCreateFn<FastGelu<T>>()                                       \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCPU) & \
                       (user_op::HobDataType("x", 0) == GetDataType<T>::value));
REGISTER_FAST_GELU(float)
REGISTER_FAST_GELU(double)

}  // namespace
}  // namespace oneflow
