// kernels.cpp: how kernels are chosen, made and run: scratch, state, cache, strides, priorities,
// counters, failures.
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "common.h"

namespace oneflow {
namespace {

// The sum of everything, through scratch memory.
KERNEL(Sum, {
  const T* x = In<T>(ctx, "x");
  T* tmp = Out<T>(ctx, "tmp_buffer");
  for (int64_t i = 0; i < Count(ctx, "x"); ++i) {
    tmp[i] = x[i];
  }
  T sum = T(0);
  for (int64_t i = 0; i < Count(ctx, "x"); ++i) {
    sum += tmp[i];
  }
  *Out<T>(ctx, "y") = sum;
})
Maybe<void> ToScalar(InferContext* ctx) {
  *ctx->OutputShape("y", 0) = Shape({});
  return Maybe<void>::Ok();
}
REGISTER_USER_OP("t_sum").Input("x").Output("y").NoGrad().SetTensorDescInferFn(ToScalar);
REGISTER_USER_KERNEL("t_sum").SetCreateFn<Sum<float>>().SetIsMatchedHob(ON_CPU).SetInferTmpSizeFn(
    [](InferContext* ctx) { return ctx->InputShape("x", 0).elem_cnt() * sizeof(float); });

// Counts its own calls in its state; the cache holds the number of elements.
class Counting final : public user_op::OpKernel {
 public:
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(
      user_op::KernelInitContext*) const override {
    return std::make_shared<user_op::OpKernelStateWrapper<int64_t>>(0);
  }
  std::shared_ptr<user_op::OpKernelCache> InitOpKernelCache(
      user_op::KernelCacheContext* ctx) const override {
    return std::make_shared<user_op::OpKernelCacheWrapper<int64_t>>(
        ctx->TensorDesc4ArgNameAndIndex("x", 0)->shape().elem_cnt());
  }

 private:
  void Compute(KernelComputeContext* ctx, user_op::OpKernelState* state,
               const user_op::OpKernelCache* cache) const override {
    int64_t* calls = dynamic_cast<user_op::OpKernelStateWrapper<int64_t>*>(state)->Mutable();
    const int64_t before = *calls;
    std::this_thread::yield();
    *calls = before + 1;
    Out<int64_t>(ctx, "y")[0] = *calls;
    Out<int64_t>(ctx, "y")[1] =
        dynamic_cast<const user_op::OpKernelCacheWrapper<int64_t>*>(cache)->Get();
  }
};
Maybe<void> TwoNumbers(InferContext* ctx) {
  *ctx->OutputShape("y", 0) = Shape({2});
  *ctx->OutputDType("y", 0) = DataType::kInt64;
  return Maybe<void>::Ok();
}
REGISTER_USER_OP("t_counting")
    .Input("x")
    .Output("y")
    .Attr<int64_t>("which", 0)
    .NoGrad()
    .SetTensorDescInferFn(TwoNumbers);
REGISTER_USER_KERNEL("t_counting").SetCreateFn<Counting>().SetIsMatchedHob(ON_CPU);

// How often each function of the op has run: attribute check, inference, predicate, scratch size,
// create, compute.
std::atomic<int64_t> runs[6];
class Watched final : public user_op::OpKernel {
 public:
  Watched() { ++runs[4]; }

 private:
  void Compute(KernelComputeContext* ctx) const override {
    ++runs[5];
    for (int i = 0; i < 6; ++i) {
      Out<int64_t>(ctx, "y")[i] = runs[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_OP("t_watched")
    .Input("x")
    .Output("y")
    .Attr<int64_t>("which", 0)
    .NoGrad()
    .SetCheckAttrFn([](const user_op::UserOpDefWrapper&,
                       const user_op::UserOpConfWrapper& conf) -> Maybe<void> {
      ++runs[0];
      CHECK_GE_OR_RETURN(conf.attr<int64_t>("which"), 0) << "which must not be negative";
      return Maybe<void>::Ok();
    })
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      ++runs[1];
      *ctx->OutputShape("y", 0) = Shape({6});
      *ctx->OutputDType("y", 0) = DataType::kInt64;
      return Maybe<void>::Ok();
    });
REGISTER_USER_KERNEL("t_watched")
    .SetCreateFn<Watched>()
    .SetIsMatchedPred([](const user_op::KernelRegContext&) {
      ++runs[2];
      return true;
    })
    .SetInferTmpSizeFn([](InferContext*) {
      ++runs[3];
      return 16;
    });

// Reads strides: the sum along the first axis of any matrix, without a copy.
KERNEL(Columns, {
  const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
  const T* data = x->dptr<T>();
  for (int64_t j = 0; j < x->shape().At(1); ++j) {
    T sum = T(0);
    for (int64_t i = 0; i < x->shape().At(0); ++i) {
      sum += data[i * x->stride().At(0) + j * x->stride().At(1)];
    }
    Out<T>(ctx, "y")[j] = sum;
  }
})
REGISTER_USER_OP("t_columns")
    .Input("x")
    .Output("y")
    .NoGrad()
    .SupportNonContiguous()
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("y", 0) = Shape({ctx->InputShape("x", 0).At(1)});
      return Maybe<void>::Ok();
    });
REGISTER_FOR("t_columns", Columns, float, "x")

// Which kernel ran is in the output.
template <int kNumber>
class Numbered final : public user_op::OpKernel {
  void Compute(KernelComputeContext* ctx) const override { *Out<float>(ctx, "y") = kNumber; }
};
REGISTER_USER_OP("t_choice")
    .Input("x")
    .Output("y")
    .Attr<std::string>("mode", "plain")
    .NoGrad()
    .SetTensorDescInferFn(ToScalar);
REGISTER_USER_KERNEL("t_choice")
    .SetCreateFn<Numbered<1>>()
    .SetIsMatchedHob(ON_CPU&& user_op::HobDataType("x", 0) == DataType::kFloat);
REGISTER_USER_KERNEL("t_choice")
    .SetCreateFn<Numbered<2>>()
    .SetPriority(user_op::kKernelPriorityOptimized)
    .SetIsMatchedHob(ON_CPU&& user_op::HobDataType("x", 0) == DataType::kFloat &&
                     user_op::HobAttr<std::string>("mode") == "quick");
REGISTER_USER_KERNEL("t_choice")
    .SetCreateFn<Numbered<3>>()
    .SetIsMatchedHob(user_op::HobDataType("x", 0) == DataType::kFloat &&
                     user_op::HobAttr<std::string>("mode") == "tie");
REGISTER_USER_KERNEL("t_choice")
    .SetCreateFn<Numbered<4>>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCUDA);

REGISTER_USER_OP("t_no_kernel").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_USER_OP("t_no_inference").Input("x").Output("y").NoGrad();
REGISTER_CPU_ONLY_USER_OP("t_cpu_only").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);

// Fails wherever it is told to.
Maybe<void> MayFail(InferContext* ctx) {
  CHECK_NE_OR_RETURN(ctx->Attr<std::string>("where"), "infer") << "told to fail";
  if (ctx->Attr<std::string>("where") == "shape") {
    *ctx->OutputShape("y", 0) = Shape({-1});
  }
  if (ctx->Attr<std::string>("where") == "dims") {
    *ctx->OutputShape("y", 0) = Shape(DimVector(40, 1));
  }
  return Maybe<void>::Ok();
}
class Failing final : public user_op::OpKernel {
 public:
  explicit Failing(const std::string& where) { CHECK_NE(where, "create") << "told to fail"; }

 private:
  void Compute(KernelComputeContext* ctx) const override {
    const std::string where = ctx->Attr<std::string>("where");
    CHECK_NE(where, "check") << "told to fail";
    if (where == "exception") {
      throw std::out_of_range("at(7)");
    }
    if (where == "number") {
      throw 42;
    }
    if (where == "type") {
      Out<double>(ctx, "y");
    }
    for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
      Out<float>(ctx, "y")[i] = 1;
    }
  }
};
REGISTER_USER_OP("t_failing")
    .Input("x")
    .Output("y")
    .Attr<std::string>("where", "")
    .NoGrad()
    .SetTensorDescInferFn(MayFail);
REGISTER_USER_KERNEL("t_failing")
    .SetCreateFn([](const user_op::KernelInitContext& ctx) {
      return new Failing(ctx.Attr<std::string>("where"));
    })
    .SetIsMatchedHob(ON_CPU)
    .SetInferTmpSizeFn([](InferContext* ctx) {
      return ctx->Attr<std::string>("where") == "tmp" ? int64_t{-1} : int64_t{0};
    });

KERNEL(Sleep, {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  Out<T>(ctx, "y")[0] = In<T>(ctx, "x")[0];
})
REGISTER_USER_OP("t_sleep").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_FOR("t_sleep", Sleep, float, "x")

// x + 1 for bytes, bools and whatever else copies as bytes; for very large tensors.
// Called with more than 2^31 elements.
template <class T>
[[gnu::optimize("O2")]] void AddOne(const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<T>(x[i] + 1);
  }
}
KERNEL(Increment, { AddOne(In<T>(ctx, "x"), Out<T>(ctx, "y"), Count(ctx, "y")); })
KERNEL(Negate, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<bool>(ctx, "y")[i] = !In<bool>(ctx, "x")[i];
  }
})
REGISTER_USER_OP("t_increment").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_FOR("t_increment", Increment, uint8_t, "x")
REGISTER_FOR("t_increment", Increment, int8_t, "x")
REGISTER_FOR("t_increment", Increment, int16_t, "x")
REGISTER_FOR("t_increment", Negate, bool, "x")

}  // namespace
}  // namespace oneflow
