// Ops that do nothing but call NdarrayUtil and NewKernelUtil, for test_ndarrays.py.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/kernel_util.h"
#include "oneflow/core/ndarray/ndarray_util.h"

namespace oneflow {
namespace {

Maybe<void> InferFromAttrs(user_op::InferContext* ctx) {
  ctx->SetOutputShape("out", 0, ctx->Attr<Shape>("shape"));
  ctx->SetOutputDType("out", 0, ctx->InputDType("x", 0));
  return Maybe<void>::Ok();
}
REGISTER_NO_GRAD_USER_OP("nd_reduce")
    .Input("x")
    .Output("out")
    .Attr<Shape>("shape")
    .Attr<std::string>("name")
    .SetTensorDescInferFn(InferFromAttrs);
REGISTER_NO_GRAD_USER_OP("nd_binary")
    .Input("x")
    .Input("y")
    .Output("out")
    .Attr<Shape>("shape")
    .Attr<std::string>("name")
    .SetTensorDescInferFn(InferFromAttrs);

template <class T>
class Reduce final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    const auto& name = ctx->Attr<std::string>("name");
    std::vector<T> buffer(x->shape_view().elem_cnt() + 1);
    const XpuVarNdarray<const T> from(x->shape_view(), x->dptr<T>());
    const XpuVarNdarray<T> to(out->shape_view(), out->mut_dptr<T>());
    const XpuVarNdarray<T> tmp(x->shape_view(), buffer.data());
#define CASE(Name)                                                                       \
  if (name == #Name) {                                                                   \
    return NdarrayUtil<DeviceType::kCPU, T>::Reduce##Name(ctx->stream(), to, from, tmp); \
  }
    // clang-format off
    CASE(Sum) CASE(Prod) CASE(Max) CASE(Min)
    // clang-format on
#undef CASE
            LOG(FATAL)
        << "no reduction " << name;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return true; }
};
template <class T>
class Binary final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    auto* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    const auto& name = ctx->Attr<std::string>("name");
    const int axes = out->shape_view().NumAxes();
    if (name == "BroadcastTo") {
      return NdarrayUtil<DeviceType::kCPU, T>::BroadcastTo(
          ctx->stream(), XpuVarNdarray<T>(out->shape_view(), out->mut_dptr<T>()),
          XpuVarNdarray<const T>(x->shape_view(), x->dptr<T>()));
    }
    const XpuVarNdarray<const T> a(x->shape_view(), x->dptr<T>(), axes),
        b(y->shape_view(), y->dptr<T>(), axes);
    const XpuVarNdarray<T> to(out->shape_view(), out->mut_dptr<T>(), axes);
#define CASE(Name)                                                                     \
  if (name == #Name) {                                                                 \
    return NdarrayUtil<DeviceType::kCPU, T>::Broadcast##Name(ctx->stream(), to, a, b); \
  }
    // clang-format off
    CASE(Add) CASE(Sub) CASE(Mul) CASE(Div) CASE(Min) CASE(Max) CASE(FloorMod) CASE(FMod) CASE(Pow)
    // clang-format on
#undef CASE
        if (name == "DivByScalar") {
      return NewKernelUtil<DeviceType::kCPU>::DivByScalarPtr(
          nullptr, x->shape_view().elem_cnt(), x->dptr<T>(), y->dptr<T>(), out->mut_dptr<T>());
    }
    if (name == "Relu") {
      return NewKernelUtil<DeviceType::kCPU>::Relu(nullptr, x->shape_view().elem_cnt(),
                                                   x->dptr<T>(), out->mut_dptr<T>());
    }
    LOG(FATAL) << "no function " << name;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return true; }
};
#define KERNELS(T)                                                                 \
  REGISTER_USER_KERNEL("nd_reduce")                                                \
      .SetCreateFn<Reduce<T>>()                                                    \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCPU) &&           \
                       (user_op::HobDataType("out", 0) == GetDataType<T>::value)); \
  REGISTER_USER_KERNEL("nd_binary")                                                \
      .SetCreateFn<Binary<T>>()                                                    \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCPU) &&           \
                       (user_op::HobDataType("out", 0) == GetDataType<T>::value));
// clang-format off
KERNELS(float) KERNELS(double) KERNELS(float16) KERNELS(bfloat16)
KERNELS(int8_t) KERNELS(uint8_t) KERNELS(int16_t) KERNELS(int32_t) KERNELS(int64_t)
// clang-format on

}  // namespace
}  // namespace oneflow
