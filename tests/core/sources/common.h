// common.h: what the test ops share.
#pragma once
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using user_op::BackwardOpBuilder;
using user_op::BackwardOpConfContext;
using user_op::InferContext;
using user_op::KernelComputeContext;
using user_op::OpArg;

// Every output is like the first input: how outputs start.
inline Maybe<void> Same(InferContext*) { return Maybe<void>::Ok(); }

template <class T>
const T* In(KernelComputeContext* ctx, const char* name, int i = 0) {
  return ctx->Tensor4ArgNameAndIndex(name, i)->dptr<T>();
}
template <class T>
T* Out(KernelComputeContext* ctx, const char* name, int i = 0) {
  return ctx->Tensor4ArgNameAndIndex(name, i)->mut_dptr<T>();
}
inline int64_t Count(KernelComputeContext* ctx, const char* name, int i = 0) {
  return ctx->Tensor4ArgNameAndIndex(name, i)->shape().elem_cnt();
}

// A kernel whose Compute is `body`, a statement that sees `ctx` and `T`.
#define KERNEL(Class, ...)                                         \
  template <class T>                                               \
  class Class final : public user_op::OpKernel {                   \
    void Compute(KernelComputeContext* ctx) const override {       \
      __VA_ARGS__;                                                 \
    }                                                              \
    bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; } \
  };
#define ON_CPU (user_op::HobDeviceType() == DeviceType::kCPU)
#define REGISTER_FOR(op, Class, T, arg)                                    \
  REGISTER_USER_KERNEL(op).SetCreateFn<Class<T>>().SetIsMatchedHob(        \
      ON_CPU && user_op::HobDataType(arg, 0) == GetDataType<T>::value);

}  // namespace
}  // namespace oneflow
