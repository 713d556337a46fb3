// faults.cpp: ops that are wrong in ways that only C++ can be. Each is named after its fault.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

using user_op::InferContext;
using user_op::KernelComputeContext;

Maybe<void> Same(InferContext* ctx) { return user_op::TensorDescInferFnUtil::Unchanged(ctx); }
template <class T>
const T* In(KernelComputeContext* ctx) {
  return ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
}
template <class T>
T* Out(KernelComputeContext* ctx) {
  return ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
}
int64_t Count(KernelComputeContext* ctx) {
  return ctx->Tensor4ArgNameAndIndex("x", 0)->shape().elem_cnt();
}

#define ON_CPU(T)                                   \
  ((user_op::HobDeviceType() == DeviceType::kCPU) & \
   (user_op::HobDataType("x", 0) == GetDataType<T>::value))
// An op of one input whose kernel is a body that sees ctx, x, y, n and T.
#define UNARY(name, Class, infer, ...)                                                \
  template <class T>                                                                  \
  struct Class final : user_op::OpKernel {                                            \
    void Compute(KernelComputeContext* ctx) const override {                          \
      const T* x = In<T>(ctx);                                                        \
      T* y = Out<T>(ctx);                                                             \
      const int64_t n = Count(ctx);                                                   \
      __VA_ARGS__;                                                                    \
    }                                                                                 \
  };                                                                                  \
  REGISTER_USER_OP(name).Input("x").Output("y").NoGrad().SetTensorDescInferFn(infer); \
  REGISTER_USER_KERNEL(name).SetCreateFn<Class<float>>().SetIsMatchedHob(ON_CPU(float));

UNARY("writes_past_end", WritesPastEnd, Same, {
  for (int64_t i = 0; i <= n; ++i) {
    y[i] = i < n ? 2 * x[i] : T(7);
  }
})
UNARY("writes_before_start", WritesBeforeStart, Same, {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 2 * x[i];
  }
  y[-1] = T(7);
})
UNARY("leaves_tail", LeavesTail, Same, {
  for (int64_t i = 0; i + 4 <= n; i += 4) {
    for (int64_t k = 0; k < 4; ++k) {
      y[i + k] = 2 * x[i + k];
    }
  }
})
UNARY("changes_input", ChangesInput, Same, {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 2 * x[i];
    const_cast<T*>(x)[i] = y[i];
  }
})
UNARY("reads_past_end", ReadsPastEnd, Same, {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] + x[i + 1];
  }
})
UNARY("adds_to_output", AddsToOutput, Same, {
  for (int64_t i = 0; i < n; ++i) {
    y[i] += x[i];
  }
})
UNARY("wraps_index", WrapsIndex, Same, {
  for (int64_t i = 0; i < n; ++i) {
    y[static_cast<uint16_t>(i)] = x[static_cast<uint16_t>(i)];
  }
})
UNARY("shares_buffer", SharesBuffer, Same, {
  static std::vector<T> kept;
  kept.assign(x, x + n);
  // Other work of the kernel's, during which other threads run on any machine.
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 2 * kept[static_cast<size_t>(i)];
  }
})

Maybe<void> OneLess(InferContext* ctx) {
  OF_RETURN_IF_ERROR(Same(ctx));
  Shape shape = ctx->InputShape("x", 0);
  if (shape.NumAxes() != 1) {
    return Error::CheckFailed() << "x has one axis";
  }
  shape.Set(0, std::max<int64_t>(shape.At(0) - 1, 0));
  *ctx->OutputShape("y", 0) = shape;
  return Maybe<void>::Ok();
}
UNARY("infers_too_small", InfersTooSmall, OneLess, {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 2 * x[i];
  }
})

Maybe<void> OneMore(InferContext* ctx) {
  OF_RETURN_IF_ERROR(Same(ctx));
  Shape shape = ctx->InputShape("x", 0);
  if (shape.NumAxes() != 1) {
    return Error::CheckFailed() << "x has one axis";
  }
  shape.Set(0, shape.At(0) + 1);
  *ctx->OutputShape("y", 0) = shape;
  return Maybe<void>::Ok();
}
UNARY("infers_too_large", InfersTooLarge, OneMore, {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = 2 * x[i];
  }
})

Maybe<void> AsDouble(InferContext* ctx) {
  OF_RETURN_IF_ERROR(Same(ctx));
  *ctx->OutputDType("y", 0) = DataType::kDouble;
  return Maybe<void>::Ok();
}
template <class T>
struct InfersWrongDtype final : user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    auto* y = static_cast<float*>(ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr());
    for (int64_t i = 0; i < Count(ctx); ++i) {
      y[i] = 2 * In<float>(ctx)[i];
    }
  }
};
REGISTER_USER_OP("infers_wrong_dtype")
    .Input("x")
    .Output("y")
    .NoGrad()
    .SetTensorDescInferFn(AsDouble);
REGISTER_USER_KERNEL("infers_wrong_dtype")
    .SetCreateFn<InfersWrongDtype<float>>()
    .SetIsMatchedHob(ON_CPU(float));

// Scratch memory: one element more than it asked for, and reading what it never wrote.
struct OverrunsScratch final : user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    float* tmp = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0)->mut_dptr<float>();
    for (int64_t i = 0; i <= Count(ctx); ++i) {
      tmp[i] = 1;
    }
    for (int64_t i = 0; i < Count(ctx); ++i) {
      Out<float>(ctx)[i] = In<float>(ctx)[i] + tmp[i];
    }
  }
};
struct TrustsScratch final : user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    const float* tmp = ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0)->dptr<float>();
    for (int64_t i = 0; i < Count(ctx); ++i) {
      Out<float>(ctx)[i] = In<float>(ctx)[i] + tmp[i];
    }
  }
};
REGISTER_USER_OP("overruns_scratch").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_USER_OP("trusts_scratch").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
#define WITH_SCRATCH(name, Class)                                  \
  REGISTER_USER_KERNEL(name)                                       \
      .SetCreateFn<Class>()                                        \
      .SetIsMatchedHob(ON_CPU(float))                              \
      .SetInferTmpSizeFn([](InferContext* ctx) -> size_t {         \
        return ctx->InputShape("x", 0).elem_cnt() * sizeof(float); \
      });
WITH_SCRATCH("overruns_scratch", OverrunsScratch)
WITH_SCRATCH("trusts_scratch", TrustsScratch)

// Says that it takes any strides, and reads as if there were none.
struct IgnoresStrides final : user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    for (int64_t i = 0; i < Count(ctx); ++i) {
      Out<float>(ctx)[i] = 2 * In<float>(ctx)[i];
    }
  }
};
REGISTER_USER_OP("ignores_strides")
    .Input("x")
    .Output("y")
    .NoGrad()
    .SupportNonContiguous()
    .SetTensorDescInferFn(Same);
REGISTER_USER_KERNEL("ignores_strides")
    .SetCreateFn<IgnoresStrides>()
    .SetIsMatchedHob(ON_CPU(float));

// Its kernel for double computes in float.
template <class T>
struct LosesDigits final : user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    for (int64_t i = 0; i < Count(ctx); ++i) {
      Out<T>(ctx)[i] = static_cast<T>(static_cast<float>(In<T>(ctx)[i]) / 3.0f);
    }
  }
};
REGISTER_USER_OP("loses_digits").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_USER_KERNEL("loses_digits")
    .SetCreateFn<LosesDigits<double>>()
    .SetIsMatchedHob(ON_CPU(double));

// Reads its input after it has written the output, and says that both may be one buffer.
struct WrongInPlace final : user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override {
    const int64_t n = Count(ctx);
    for (int64_t i = 0; i < n; ++i) {
      Out<float>(ctx)[i] = In<float>(ctx)[n - 1 - i];
    }
  }
};
REGISTER_USER_OP("wrong_in_place").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_USER_KERNEL("wrong_in_place")
    .SetCreateFn<WrongInPlace>()
    .SetIsMatchedHob(ON_CPU(float))
    .SetInplaceProposalFn([](const InferContext&,
                             const user_op::AddInplaceArgPair& add) -> Maybe<void> {
      return add("y", 0, "x", 0, true);
    });

}  // namespace
}  // namespace oneflow
