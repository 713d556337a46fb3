// softmax over the last axis: one block for each row, which is read once and written once.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/cuda_graph_support.h"
#include "rows.cuh"

namespace oneflow {

namespace {

Maybe<void> InferSameAs(user_op::InferContext* ctx, const char* in, const char* out) {
  *ctx->Shape4ArgNameAndIndex(out, 0) = *ctx->Shape4ArgNameAndIndex(in, 0);
  *ctx->Dtype4ArgNameAndIndex(out, 0) = *ctx->Dtype4ArgNameAndIndex(in, 0);
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("row_softmax")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_GE_OR_RETURN(ctx->Shape4ArgNameAndIndex("x", 0)->NumAxes(), 1);
      return InferSameAs(ctx, "x", "y");
    });

REGISTER_USER_OP("row_softmax_grad")
    .Input("y")
    .Input("dy")
    .Output("dx")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      CHECK_GE_OR_RETURN(ctx->Shape4ArgNameAndIndex("y", 0)->NumAxes(), 1);
      CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("y", 0), *ctx->Shape4ArgNameAndIndex("dy", 0));
      return InferSameAs(ctx, "y", "dx");
    });

template <typename T, int kSize, int kPacks, int kThreads>
__global__ void __launch_bounds__(kThreads) Softmax(int cols, const T* x, T* y) {
  const int num_packs = cols / kSize;
  rows::Row<T, kSize, kPacks> row;
  row.Load(x + static_cast<int64_t>(blockIdx.x) * cols, num_packs, -INFINITY);
  float highest = -INFINITY;
  row.ForEach([&](float& value) { highest = fmaxf(highest, value); });
  highest = rows::MaxOfBlock(highest);
  float sum = 0;
  row.ForEach([&](float& value) {
    value = __expf(value - highest);
    sum += value;
  });
  const float scale = 1.0f / rows::SumOfBlock(sum);
  row.ForEach([&](float& value) { value *= scale; });
  row.Store(y + static_cast<int64_t>(blockIdx.x) * cols, num_packs);
}

template <typename T, int kSize, int kPacks, int kThreads>
__global__ void __launch_bounds__(kThreads) SoftmaxGrad(int cols, const T* y, const T* dy, T* dx) {
  const int num_packs = cols / kSize;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * cols;
  rows::Row<T, kSize, kPacks> out;
  rows::Row<T, kSize, kPacks> grad;
  out.Load(y + first, num_packs, 0);
  grad.Load(dy + first, num_packs, 0);
  float sum = 0;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      sum += out.values[p][i] * grad.values[p][i];
    }
  }
  sum = rows::SumOfBlock(sum);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      out.values[p][i] *= grad.values[p][i] - sum;
    }
  }
  out.Store(dx + first, num_packs);
}

template <typename T>
class SoftmaxKernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    T* out = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    const int64_t cols = x->shape().At(x->shape().NumAxes() - 1);
    const int64_t count = x->shape().elem_cnt() / cols;
    rows::ForRowLength<T>(
        cols, rows::IsAligned({in, out}), [&](auto size, auto packs, auto most, int threads) {
          Softmax<T, size(), packs(), most()>
              <<<count, threads, 0, ctx->device_ctx()->cuda_stream()>>>(cols, in, out);
        });
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

template <typename T>
class SoftmaxGradKernel final : public user_op::OpKernel, public user_op::CudaGraphSupport {
 private:
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const T* out = y->dptr<T>();
    const T* dy = ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<T>();
    T* dx = ctx->Tensor4ArgNameAndIndex("dx", 0)->mut_dptr<T>();
    const int64_t cols = y->shape().At(y->shape().NumAxes() - 1);
    const int64_t count = y->shape().elem_cnt() / cols;
    rows::ForRowLength<T>(
        cols, rows::IsAligned({out, dy, dx}), [&](auto size, auto packs, auto most, int threads) {
          SoftmaxGrad<T, size(), packs(), most()>
              <<<count, threads, 0, ctx->device_ctx()->cuda_stream()>>>(cols, out, dy, dx);
        });
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

#define REGISTER_SOFTMAX_KERNELS(dtype)                                              \
  REGISTER_USER_KERNEL("row_softmax")                                                \
      .SetCreateFn<SoftmaxKernel<dtype>>()                                           \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCUDA) &             \
                       (user_op::HobDataType("x", 0) == GetDataType<dtype>::value)); \
  REGISTER_USER_KERNEL("row_softmax_grad")                                           \
      .SetCreateFn<SoftmaxGradKernel<dtype>>()                                       \
      .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::kCUDA) &             \
                       (user_op::HobDataType("y", 0) == GetDataType<dtype>::value));

REGISTER_SOFTMAX_KERNELS(float)
REGISTER_SOFTMAX_KERNELS(half)
REGISTER_SOFTMAX_KERNELS(nv_bfloat16)

REGISTER_USER_OP_GRAD("row_softmax")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) {
      const auto name = ctx->FwOp().op_name() + "_grad";
      ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("row_softmax_grad")
            .InputBind("y", ctx->FwOp().output("y", 0))
            .InputBind("dy", ctx->FwOp().output_grad("y", 0))
            .Output("dx")
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0),
                                [&ctx, &name]() { return ctx->GetOp(name).output("dx", 0); });
    });

}  // namespace

}  // namespace oneflow
