// What OneFlow's CUDA sources use of the SDK's headers: rows, atomics, arithmetic of 2020, arrays,
// and names that cub lost. Compiled with ONEOP_PORT.
#include <cub/cub.cuh>

#include "oneflow/core/cuda/atomic.cuh"
#include "oneflow/core/cuda/elementwise.cuh"
#include "oneflow/core/cuda/layer_norm.cuh"
#include "oneflow/core/cuda/softmax.cuh"
#include "oneflow/core/ep/cuda/cuda_stream.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/kernel/kernel_util.h"
#include "oneflow/core/ndarray/ndarray_util.h"

namespace oneflow {
namespace {

#define PORTED_OP(name, Kernel)                                                           \
  REGISTER_USER_OP(name).Input("x").Input("y").Output("z").NoGrad().SetTensorDescInferFn( \
      user_op::TensorDescInferFnUtil::Unchanged);                                         \
  REGISTER_USER_KERNEL(name).SetCreateFn<Kernel<float>>().SetIsMatchedHob(                \
      (user_op::HobDeviceType() == DeviceType::kCUDA) &&                                  \
      (user_op::HobDataType("x", 0) == DataType::kFloat));                                \
  REGISTER_USER_KERNEL(name).SetCreateFn<Kernel<half>>().SetIsMatchedHob(                 \
      (user_op::HobDeviceType() == DeviceType::kCUDA) &&                                  \
      (user_op::HobDataType("x", 0) == DataType::kFloat16));

// Three tensors of one shape, as a matrix: z from x and y.
template <typename T>
struct Matrix {
  explicit Matrix(user_op::KernelComputeContext* ctx)
      : x(ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>()),
        y(ctx->Tensor4ArgNameAndIndex("y", 0)->dptr<T>()),
        z(ctx->Tensor4ArgNameAndIndex("z", 0)->mut_dptr<T>()),
        stream(ctx->stream()),
        cuda(ctx->stream()->As<ep::CudaStream>()->cuda_stream()) {
    const auto& shape = ctx->Tensor4ArgNameAndIndex("x", 0)->shape();
    cols = shape.At(shape.NumAxes() - 1);
    n = shape.elem_cnt();
    rows = cols == 0 ? 0 : n / cols;
  }
  const T* x;
  const T* y;
  T* z;
  ep::Stream* stream;
  cudaStream_t cuda;
  int64_t rows, cols, n;
};

template <typename T>
using C = typename cuda::softmax::DefaultComputeType<T>::type;

#define PORTED_KERNEL(Name, body)                                            \
  template <typename T>                                                      \
  class Name final : public user_op::OpKernel {                              \
    void Compute(user_op::KernelComputeContext* ctx) const override {        \
      const Matrix<T> m(ctx);                                                \
      using L = cuda::softmax::DirectLoad<T, C<T>>;                          \
      using S = cuda::softmax::DirectStore<C<T>, T>;                         \
      const L x(m.x, m.cols), y(m.y, m.cols);                                \
      const S z(m.z, m.cols);                                                \
      (void)x, (void)y, (void)z;                                             \
      body;                                                                  \
    }                                                                        \
    bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; } \
  };
PORTED_KERNEL(Softmax, OF_CUDA_CHECK((cuda::softmax::DispatchSoftmax<L, S, C<T>>(m.cuda, x, z,
                                                                                 m.rows, m.cols))))
PORTED_KERNEL(LogSoftmax,
              OF_CUDA_CHECK((cuda::softmax::DispatchLogSoftmax<L, S, C<T>>(m.cuda, x, z, m.rows,
                                                                           m.cols))))
PORTED_KERNEL(SoftmaxGrad,
              OF_CUDA_CHECK((cuda::softmax::DispatchSoftmaxGrad<L, L, S, C<T>>(m.cuda, x, y, z,
                                                                               m.rows, m.cols))))
PORTED_KERNEL(LogSoftmaxGrad,
              OF_CUDA_CHECK((cuda::softmax::DispatchLogSoftmaxGrad<L, L, S, C<T>>(m.cuda, x, y, z,
                                                                                  m.rows, m.cols))))
PORTED_OP("ported_softmax", Softmax)
PORTED_OP("ported_log_softmax", LogSoftmax)
PORTED_OP("ported_softmax_grad", SoftmaxGrad)
PORTED_OP("ported_log_softmax_grad", LogSoftmaxGrad)

// Layer norm of x, and its gradient for y; means and deviations in the scratch memory.
template <typename T, bool is_grad>
class LayerNorm final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const Matrix<T> m(ctx);
    using L = cuda::layer_norm::DirectLoad<T, C<T>>;
    using S = cuda::layer_norm::DirectStore<C<T>, T>;
    auto* mean =
        reinterpret_cast<C<T>*>(ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0)->mut_dptr<char>());
    OF_CUDA_CHECK((cuda::layer_norm::DispatchLayerNorm<L, S, C<T>>(
        m.cuda, L(m.x, m.cols), S(m.z, m.cols), m.rows, m.cols, 1e-5, mean, mean + m.rows)));
    if (is_grad) {
      OF_CUDA_CHECK((cuda::layer_norm::DispatchLayerNormGrad<L, L, S, C<T>>(
          m.cuda, L(m.x, m.cols), L(m.y, m.cols), S(m.z, m.cols), mean, mean + m.rows, m.rows,
          m.cols)));
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
#define PORTED_NORM(name, T, code, is_grad)                                       \
  REGISTER_USER_KERNEL(name)                                                      \
      .SetCreateFn<LayerNorm<T, is_grad>>()                                       \
      .SetIsMatchedHob(user_op::HobDataType("x", 0) == code)                      \
      .SetInferTmpSizeFn([](user_op::InferContext* ctx) {                         \
        return static_cast<size_t>(16 * ctx->InputShape("x", 0).elem_cnt() + 16); \
      });
REGISTER_USER_OP("ported_norm")
    .Input("x")
    .Input("y")
    .Output("z")
    .NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
REGISTER_USER_OP("ported_norm_grad")
    .Input("x")
    .Input("y")
    .Output("z")
    .NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
PORTED_NORM("ported_norm", float, DataType::kFloat, false)
PORTED_NORM("ported_norm", half, DataType::kFloat16, false)
PORTED_NORM("ported_norm_grad", float, DataType::kFloat, true)
PORTED_NORM("ported_norm_grad", half, DataType::kFloat16, true)

// z[0] = the sum of x, z[1] = the greatest of x, z[2] = their product, z[3] = the least:
// atomically, by all threads.
template <typename T>
__global__ void Collect(int64_t n, const T* x, T* z) {
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) {
    cuda::atomic::Add(z, x[i]);
    cuda::atomic::Max(z + 1, x[i]);
    cuda::atomic::Mul(z + 2, x[i]);
    cuda::atomic::Min(z + 3, x[i]);
    if (sizeof(T) < 8) {
      cuda::atomic::FastAdd(z, 4 + i % 3, 7, x[i]);
    }
  }
}
template <typename T>
class Atomics final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    auto* z = ctx->Tensor4ArgNameAndIndex("z", 0);
    Memset<DeviceType::kCUDA>(ctx->stream(), z->mut_dptr(), 0, 8 * sizeof(T));
    Memcpy<DeviceType::kCUDA>(ctx->stream(), z->mut_dptr<T>() + 1, x->dptr(), sizeof(T));
    Memcpy<DeviceType::kCUDA>(ctx->stream(), z->mut_dptr<T>() + 3, x->dptr(), sizeof(T));
    NewKernelUtil<DeviceType::kCUDA>::Fill(ctx->stream(), 1, static_cast<T>(1),
                                           z->mut_dptr<T>() + 2);
    const int64_t n = x->shape().elem_cnt();
    ctx->stream()->As<ep::CudaStream>()->LaunchKernelDefaultWaves(Collect<T>, n, n, x->dptr<T>(),
                                                                  z->mut_dptr<T>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_OP("ported_atomics")
    .Input("x")
    .Output("z")
    .NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
#define PORTED_ATOMICS(T, code)          \
  REGISTER_USER_KERNEL("ported_atomics") \
      .SetCreateFn<Atomics<T>>()         \
      .SetIsMatchedHob(user_op::HobDataType("x", 0) == code);
PORTED_ATOMICS(float, DataType::kFloat)
PORTED_ATOMICS(double, DataType::kDouble)
PORTED_ATOMICS(half, DataType::kFloat16)
PORTED_ATOMICS(nv_bfloat16, DataType::kBFloat16)
PORTED_ATOMICS(int32_t, DataType::kInt32)
PORTED_ATOMICS(int64_t, DataType::kInt64)
PORTED_ATOMICS(uint8_t, DataType::kUInt8)

// Over the last axis: the greatest or the least, by NdarrayUtil and by a warp. x / y of the
// elements.
template <typename T>
__global__ void WarpExtremes(int64_t n, const T* x, T* greatest, T* least) {
  const int64_t row = blockIdx.x;
  T high = x[row * n], low = high;
  for (int64_t i = threadIdx.x; i < n; i += 32) {
    high = cuda::MaxOp<T>()(high, x[row * n + i]);
    low = cuda::MinOp<T>()(low, x[row * n + i]);
  }
  greatest[row] = cuda::WarpAllReduce<cuda::MaxOp>(high);
  least[row] = cuda::WarpAllReduce<cuda::MinOp>(low);
}
template <typename T>
class Extremes final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    using U = NdarrayUtil<DeviceType::kCUDA, T>;
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const auto tensor = [&](const char* name) { return ctx->Tensor4ArgNameAndIndex(name, 0); };
    const auto var = [&](const char* name) {
      return XpuVarNdarray<T>(tensor(name)->shape(), tensor(name)->template mut_dptr<T>());
    };
    const XpuVarNdarray<const T> in(x->shape(), x->dptr<T>());
    U::ReduceMax(ctx->stream(), var("greatest"), in, var("ratio"));
    U::ReduceMin(ctx->stream(), var("least"), in, var("ratio"));
    const XpuVarNdarray<const T> by(tensor("y")->shape(), tensor("y")->template dptr<T>());
    U::BroadcastDiv(ctx->stream(), var("ratio"), in, by);
    if constexpr (sizeof(T) == 4) {
      WarpExtremes<<<x->shape().At(0), 32, 0, ctx->stream()->As<ep::CudaStream>()->cuda_stream()>>>(
          x->shape().At(1), x->dptr<T>(), var("of_warp").ptr(), var("low_of_warp").ptr());
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_OP("ported_extremes")
    .Input("x")
    .Input("y")
    .Output("greatest")
    .Output("least")
    .Output("ratio")
    .Output("of_warp")
    .Output("low_of_warp")
    .NoGrad()
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      for (const char* name : {"greatest", "least", "of_warp", "low_of_warp"}) {
        ctx->SetOutputShape(name, 0, Shape({ctx->InputShape("x", 0).At(0), 1}));
      }
      ctx->SetOutputShape("ratio", 0, ctx->InputShape("x", 0));
      return Maybe<void>::Ok();
    });
#define PORTED_EXTREMES(T, code)          \
  REGISTER_USER_KERNEL("ported_extremes") \
      .SetCreateFn<Extremes<T>>()         \
      .SetIsMatchedHob(user_op::HobDataType("x", 0) == code);
PORTED_EXTREMES(float, DataType::kFloat)
PORTED_EXTREMES(double, DataType::kDouble)
PORTED_EXTREMES(half, DataType::kFloat16)
PORTED_EXTREMES(nv_bfloat16, DataType::kBFloat16)
PORTED_EXTREMES(int32_t, DataType::kInt32)
PORTED_EXTREMES(int64_t, DataType::kInt64)

struct Twice {
  template <typename T>
  __host__ __device__ T operator()(T x) const {
    return x + x;
  }
};

// x of shape (a, b, c), y of shape (a, 1, c): first = relu(x + y), second = the sum over b, third =
// sum of all by cub.
template <typename T>
class Arrays final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    using U = NdarrayUtil<DeviceType::kCUDA, T>;
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    auto* first = ctx->Tensor4ArgNameAndIndex("first", 0);
    auto* second = ctx->Tensor4ArgNameAndIndex("second", 0);
    auto* third = ctx->Tensor4ArgNameAndIndex("third", 0);
    const XpuVarNdarray<const T> in(x->shape(), x->dptr<T>()), by(y->shape(), y->dptr<T>());
    const XpuVarNdarray<T> to(first->shape(), first->mut_dptr<T>()),
        sums(second->shape(), second->mut_dptr<T>());
    U::BroadcastAdd(ctx->stream(), to, in, by);
    const int64_t n = x->shape().elem_cnt();
    NewKernelUtil<DeviceType::kCUDA>::Relu(ctx->stream(), n, first->dptr<T>(),
                                           first->mut_dptr<T>());
    U::ReduceSum(ctx->stream(), sums, in, to);
    cub::TransformInputIterator<T, Twice, const T*> twice(x->dptr<T>(), Twice());
    size_t bytes = 0;
    OF_CUDA_CHECK(cub::DeviceReduce::Reduce(nullptr, bytes, twice, third->mut_dptr<T>(),
                                            static_cast<int>(n), cub::Sum(), T(0),
                                            ctx->stream()->cuda_stream()));
    CHECK_LE(static_cast<int64_t>(bytes),
             ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0)->shape().elem_cnt());
    OF_CUDA_CHECK(cub::DeviceReduce::Reduce(
        ctx->Tensor4ArgNameAndIndex("tmp_buffer", 0)->mut_dptr<char>(), bytes, twice,
        third->mut_dptr<T>(), static_cast<int>(n), cub::Sum(), T(0), ctx->stream()->cuda_stream()));
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_OP("ported_arrays")
    .Input("x")
    .Input("y")
    .Output("first")
    .Output("second")
    .Output("third")
    .NoGrad()
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputShape("first", 0, ctx->InputShape("x", 0));
      ctx->SetOutputShape("second", 0, ctx->InputShape("y", 0));
      ctx->SetOutputShape("third", 0, Shape({1}));
      for (const char* name : {"first", "second", "third"}) {
        ctx->SetOutputDType(name, 0, ctx->InputDType("x", 0));
      }
      return Maybe<void>::Ok();
    });
REGISTER_USER_KERNEL("ported_arrays")
    .SetCreateFn<Arrays<float>>()
    .SetInferTmpSizeFn([](user_op::InferContext*) { return size_t{1} << 20; });

// A tensor of four twos, from nothing.
class Source final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    NewKernelUtil<DeviceType::kCUDA>::Fill(ctx->stream(), 4, 2.0,
                                           ctx->Tensor4ArgNameAndIndex("z", 0)->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_OP("ported_source")
    .Output("z")
    .NoGrad()
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      ctx->SetOutputShape("z", 0, Shape({4}));
      ctx->SetOutputDType("z", 0, DataType::kFloat);
      return Maybe<void>::Ok();
    });
REGISTER_USER_KERNEL("ported_source")
    .SetCreateFn<Source>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCUDA);

}  // namespace
}  // namespace oneflow
