// An op that does nothing but call functions of BLAS, for test_ndarrays.py, which has it optimized.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/kernel_util.h"

namespace oneflow {
namespace {

Maybe<void> InferFromAttrs(user_op::InferContext* ctx) {
  ctx->SetOutputShape("out", 0, ctx->Attr<Shape>("shape"));
  ctx->SetOutputDType("out", 0, ctx->InputDType("x", 0));
  return Maybe<void>::Ok();
}
// Vectors of BLAS: `n` elements of x and y at `steps` from each other, in copies of both.
REGISTER_NO_GRAD_USER_OP("nd_blas")
    .Input("x")
    .Input("y")
    .Output("out")
    .Attr<Shape>("shape")
    .Attr<std::string>("name")
    .Attr<int32_t>("n")
    .Attr<std::vector<int32_t>>("steps")
    .SetTensorDescInferFn(InferFromAttrs);
template <class T>
class Blas final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const T* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
    const auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    T* out = ctx->Tensor4ArgNameAndIndex("out", 0)->mut_dptr<T>();
    const auto& name = ctx->Attr<std::string>("name");
    const auto& steps = ctx->Attr<std::vector<int32_t>>("steps");
    const int n = ctx->Attr<int32_t>("n");
    if (name == "dot") {
      *out = cblas_dot<T>(n, x, steps[0], y->dptr<T>(), steps[1]);
    } else if (name == "Dot") {
      KernelUtil<DeviceType::kCPU, T>::Dot(nullptr, n, x, steps[0], y->dptr<T>(), steps[1], out);
    } else {
      std::copy_n(y->dptr<T>(), y->shape_view().elem_cnt(), out);
      if (name == "axpy") {
        cblas_axpy<T>(n, T(2), x, steps[0], out, steps[1]);
      } else {
        NewKernelUtil<DeviceType::kCPU>::Axpy(nullptr, n, T(2), x, steps[0], out, steps[1]);
      }
    }
  }
};

#define KERNEL(T)                                                         \
  REGISTER_USER_KERNEL("nd_blas").SetCreateFn<Blas<T>>().SetIsMatchedHob( \
      (user_op::HobDeviceType() == DeviceType::kCPU) &&                   \
      (user_op::HobDataType("out", 0) == GetDataType<T>::value));
// clang-format off
KERNEL(float) KERNEL(double) KERNEL(float16) KERNEL(bfloat16)
KERNEL(int8_t) KERNEL(uint8_t) KERNEL(int16_t) KERNEL(int32_t) KERNEL(int64_t)
// clang-format on

}  // namespace
}  // namespace oneflow
