// NdarrayUtil and NdarrayReduce for CUDA; in files that nvcc compiles. A thread computes an element
// of a broadcast, a block an element of a reduction.
#ifndef ONEOP_SDK_PORT_NDARRAY_CUDA_H_
#define ONEOP_SDK_PORT_NDARRAY_CUDA_H_

#include "oneflow/core/ndarray/ndarray_util.h"

#if defined(__CUDACC__)

namespace oneop ONEOP_HIDDEN {
namespace sdk {
namespace on_gpu {

// Extents, and for each of some tensors its strides, 0 where it is repeated.
template <int kTensors>
struct Box {
  int ndim = 0;
  int64_t dims[ONEOP_MAX_DIMS];
  int64_t steps[kTensors][ONEOP_MAX_DIMS];

  __device__ __forceinline__ void OffsetsOf(int64_t i, int64_t (&offsets)[kTensors]) const {
    for (int k = 0; k < kTensors; ++k) {
      offsets[k] = 0;
    }
    for (int d = ndim - 1; d >= 0; --d) {
      const int64_t at = i % dims[d];
      i /= dims[d];
      for (int k = 0; k < kTensors; ++k) {
        offsets[k] += at * steps[k][d];
      }
    }
  }
};
template <class... S>
Box<sizeof...(S)> BoxOf(const oneflow::Shape& to, const S&... shapes) {
  Box<sizeof...(S)> box;
  box.ndim = static_cast<int>(to.NumAxes());
  int k = 0;
  (BroadcastStrides(shapes.NumAxes(), shapes.ptr(), to.NumAxes(), to.ptr(), box.steps[k++]), ...);
  for (int d = 0; d < box.ndim; ++d) {
    box.dims[d] = to.At(d);
  }
  return box;
}

template <class R, class T, class F>
__global__ void BroadcastUnaryKernel(int64_t n, Box<1> box, R* y, const T* x) {
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) {
    int64_t at[1];
    box.OffsetsOf(i, at);
    y[i] = F::Of(x[at[0]]);
  }
}
template <class R, class T, template <class> class F>
__global__ void BroadcastBinaryKernel(int64_t n, Box<2> box, R* y, const T* a, const T* b) {
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) {
    int64_t at[2];
    box.OffsetsOf(i, at);
    y[i] = static_cast<R>(F<T>::Invoke(a[at[0]], b[at[1]]));
  }
}

constexpr int kReduceThreads = 256;

// For each element of y the fold over the dimensions in `inner`, in a fixed order.
template <class A, class R, class T, template <class> class F>
__global__ void ReduceKernel(int64_t rows, int64_t row, Box<1> outer, Box<1> inner, R* y,
                             const T* x, A unit) {
  __shared__ A parts[kReduceThreads];
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    int64_t start[1], at[1];
    outer.OffsetsOf(i, start);
    A sum = unit;
    for (int64_t k = threadIdx.x; k < row; k += kReduceThreads) {
      inner.OffsetsOf(k, at);
      sum = F<A>::Invoke(sum, static_cast<A>(x[start[0] + at[0]]));
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int width = kReduceThreads / 2; width > 0; width /= 2) {
      if (static_cast<int>(threadIdx.x) < width) {
        parts[threadIdx.x] = F<A>::Invoke(parts[threadIdx.x], parts[threadIdx.x + width]);
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) {
      y[i] = static_cast<R>(parts[0]);
    }
    __syncthreads();  // parts may be used again
  }
}
template <class A, template <class> class F, class R, class T>
void ReduceTo(oneflow::ep::Stream* stream, const oneflow::Shape& y_shape, R* y,
              const oneflow::Shape& x_shape, const T* x, A unit) {
  Box<1> outer, inner;
  int64_t step = x_shape.elem_cnt(), rows = 1, row = 1;
  for (int64_t d = 0; d != x_shape.NumAxes(); ++d) {
    const int64_t extent = x_shape.At(d);
    step = extent == 0 ? 0 : step / extent;
    Box<1>& box = y_shape.At(d) == extent ? outer : inner;
    if (&box == &inner) {
      CHECK_EQ(y_shape.At(d), 1);
    }
    (&box == &outer ? rows : row) *= extent;
    box.dims[box.ndim] = extent;
    box.steps[0][box.ndim++] = step;
  }
  if (rows > 0) {
    const auto blocks = static_cast<unsigned>(rows < (1 << 20) ? rows : 1 << 20);
    ReduceKernel<A, R, T, F>
        <<<blocks, kReduceThreads, 0, stream->cuda_stream()>>>(rows, row, outer, inner, y, x, unit);
    OF_CUDA_CHECK(cudaPeekAtLastError());
  }
}

#define ONEOP_GPU_FUNCTOR(Name, expression)       \
  template <class T>                              \
  struct Name {                                   \
    static __device__ __forceinline__ T Of(T v) { \
      using W = AccumulatorOfType<T>;             \
      const W w = static_cast<W>(v);              \
      return static_cast<T>(expression);          \
    }                                             \
  };
template <class T>
using AccumulatorOfType = typename AccumulatorOf<T>::type;
ONEOP_GPU_FUNCTOR(Identity, w)
ONEOP_GPU_FUNCTOR(Negative, -w)
ONEOP_GPU_FUNCTOR(Exp, exp(w))
#undef ONEOP_GPU_FUNCTOR

}  // namespace on_gpu
}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

template <class T, template <class> class BinaryFunc>
struct NdarrayReduce<kCUDA, T, BinaryFunc> {
  using RetT = typename BinaryFuncTrait<BinaryFunc, T>::return_type;
  template <class R, class Tmp>
  static void Reduce(ep::Stream* stream, const XpuVarNdarray<R>& y, const XpuVarNdarray<const T>& x,
                     const Tmp& /*tmp_storage*/) {
    CHECK_EQ(y.shape().NumAxes(), x.shape().NumAxes());
    using A = std::conditional_t<std::is_same_v<RetT, T>,
                                 typename ::oneop::sdk::AccumulatorOf<T>::type, bool>;
    ::oneop::sdk::on_gpu::ReduceTo<A, BinaryFunc>(stream, y.shape(), y.ptr(), x.shape(), x.ptr(),
                                                  UnitOfBinaryFunc<A, BinaryFunc>::Val());
  }
};

template <class T>
struct NdarrayUtil<kCUDA, T> {
  using Var = XpuVarNdarray<T>;
  using Val = XpuVarNdarray<const T>;

  static XpuVarNdarrayBuilder<const T> GetValNdarrayBuilder() { return {}; }
  static XpuVarNdarrayBuilder<T> GetVarNdarrayBuilder() { return {}; }

#define ONEOP_GPU_UNARY(Name)                                                                      \
  static void Name(ep::Stream* stream, const Var& y, const Val& x) {                               \
    const int64_t n = y.shape().elem_cnt();                                                        \
    RUN_CUDA_KERNEL(                                                                               \
        (::oneop::sdk::on_gpu::BroadcastUnaryKernel<T, T, ::oneop::sdk::on_gpu::Name<T>>), stream, \
        n, n, ::oneop::sdk::on_gpu::BoxOf(y.shape(), x.shape()), y.ptr(), x.ptr());                \
  }                                                                                                \
  static void Broadcast##Name(ep::Stream* stream, const Var& y, const Val& x) {                    \
    Name(stream, y, x);                                                                            \
  }                                                                                                \
  static void Inplace##Name(ep::Stream* stream, const Var& y) { Name(stream, y, y); }
  ONEOP_GPU_UNARY(Identity)
  ONEOP_GPU_UNARY(Negative)
  ONEOP_GPU_UNARY(Exp)
#undef ONEOP_GPU_UNARY
  static void BroadcastTo(ep::Stream* stream, const Var& y, const Val& x) {
    Identity(stream, y, x);
  }
  static void Assign(ep::Stream* stream, const Var& y, const Val& x) { Identity(stream, y, x); }

#define ONEOP_GPU_BINARY(Name, R)                                                                  \
  static void Broadcast##Name(ep::Stream* stream, const XpuVarNdarray<R>& y, const Val& a,         \
                              const Val& b) {                                                      \
    const int64_t n = y.shape().elem_cnt();                                                        \
    RUN_CUDA_KERNEL((::oneop::sdk::on_gpu::BroadcastBinaryKernel<R, T, BinaryFunc##Name>), stream, \
                    n, n, ::oneop::sdk::on_gpu::BoxOf(y.shape(), a.shape(), b.shape()), y.ptr(),   \
                    a.ptr(), b.ptr());                                                             \
  }                                                                                                \
  static void Name(ep::Stream* stream, const XpuVarNdarray<R>& y, const Val& a, const Val& b) {    \
    Broadcast##Name(stream, y, a, b);                                                              \
  }
#define ONEOP_GPU_INPLACE_BINARY(Name)                                                 \
  ONEOP_GPU_BINARY(Name, T)                                                            \
  static void Inplace##Name(ep::Stream* stream, const Var& y, const Val& x) {          \
    Broadcast##Name(stream, y, y, x);                                                  \
  }                                                                                    \
  static void InplaceBroadcast##Name(ep::Stream* stream, const Var& y, const Val& x) { \
    Broadcast##Name(stream, y, y, x);                                                  \
  }
  OF_PP_FOR_EACH_ATOMIC(ONEOP_GPU_INPLACE_BINARY, ARITHMETIC_BINARY_FUNC_NAME_SEQ)
#define ONEOP_GPU_LOGICAL(Name) \
  template <class R>            \
  ONEOP_GPU_LOGICAL_OF(Name)
#define ONEOP_GPU_LOGICAL_OF(Name)                                                                 \
  static void Broadcast##Name(ep::Stream* stream, const XpuVarNdarray<R>& y, const Val& a,         \
                              const Val& b) {                                                      \
    const int64_t n = y.shape().elem_cnt();                                                        \
    RUN_CUDA_KERNEL((::oneop::sdk::on_gpu::BroadcastBinaryKernel<R, T, BinaryFunc##Name>), stream, \
                    n, n, ::oneop::sdk::on_gpu::BoxOf(y.shape(), a.shape(), b.shape()), y.ptr(),   \
                    a.ptr(), b.ptr());                                                             \
  }
  OF_PP_FOR_EACH_ATOMIC(ONEOP_GPU_LOGICAL, LOGICAL_BINARY_FUNC_NAME_SEQ)
#undef ONEOP_GPU_LOGICAL_OF
#undef ONEOP_GPU_LOGICAL
#undef ONEOP_GPU_INPLACE_BINARY
#undef ONEOP_GPU_BINARY

#define ONEOP_GPU_REDUCE(Name)                                                             \
  template <class Y, class Tmp>                                                            \
  static void Reduce##Name(ep::Stream* stream, const Y& y, const Val& x, const Tmp& tmp) { \
    NdarrayReduce<kCUDA, T, BinaryFunc##Name>::Reduce(stream, y, x, tmp);                  \
  }
  OF_PP_FOR_EACH_ATOMIC(ONEOP_GPU_REDUCE, REDUCE_BINARY_FUNC_NAME_SEQ)
#undef ONEOP_GPU_REDUCE
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // __CUDACC__

#endif  // ONEOP_SDK_PORT_NDARRAY_CUDA_H_
