// NewKernelUtil and KernelUtil for CUDA; in files that nvcc compiles. Products of matrices are not
// among them: they need cuBLAS.
#ifndef ONEOP_SDK_PORT_KERNEL_UTIL_CUDA_H_
#define ONEOP_SDK_PORT_KERNEL_UTIL_CUDA_H_

#include "oneflow/core/kernel/kernel_util.h"

#if defined(__CUDACC__)

namespace oneop ONEOP_HIDDEN {
namespace sdk {
namespace on_gpu {

// y[i] = fn(i)
template <class T, class F>
__global__ void EachKernel(int64_t n, T* y, F fn) {
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) { y[i] = static_cast<T>(fn(i)); }
}
template <class T, class F>
void Each(oneflow::DeviceCtx* ctx, int64_t n, T* y, const F& fn) {
  RUN_CUDA_KERNEL((EachKernel<T, F>), ctx, n, n, y, fn);
}

// Half precision computes in float.
template <class T>
struct WideOf {
  using type =
      std::conditional_t<std::is_same<T, double>::value || std::is_integral<T>::value, T, float>;
};

// A functor with some pointers and a number, and what it computes from an index.
#define ONEOP_GPU_FUNCTOR(Name, expression)                           \
  template <class T>                                                  \
  struct Name {                                                       \
    const T* x;                                                       \
    const T* y;                                                       \
    T value;                                                          \
    __device__ __forceinline__ T operator()(int64_t i) const {        \
      using W = typename WideOf<T>::type;                             \
      const auto X = [&](int64_t k) { return static_cast<W>(x[k]); }; \
      const auto Y = [&](int64_t k) { return static_cast<W>(y[k]); }; \
      const W v = static_cast<W>(value);                              \
      (void)X, (void)Y, (void)v;                                      \
      return static_cast<T>(expression);                              \
    }                                                                 \
  };
ONEOP_GPU_FUNCTOR(FillFn, v)
ONEOP_GPU_FUNCTOR(ReluFn, Larger(X(i), W(0)))
ONEOP_GPU_FUNCTOR(MaskByFn, X(i) > W(0) ? Y(i) : W(0))
ONEOP_GPU_FUNCTOR(SigmoidFn, W(1) / (W(1) + exp(-X(i))))
ONEOP_GPU_FUNCTOR(SigmoidGradFn, X(i) * (W(1) - X(i)) * Y(i))
ONEOP_GPU_FUNCTOR(TanhFn, tanh(X(i)))
ONEOP_GPU_FUNCTOR(TanhGradFn, (W(1) - X(i) * X(i)) * Y(i))
ONEOP_GPU_FUNCTOR(SqrtFn, sqrt(X(i)))
ONEOP_GPU_FUNCTOR(MulFn, X(i) * Y(i))
ONEOP_GPU_FUNCTOR(AddScalarFn, X(i) + v)
ONEOP_GPU_FUNCTOR(SubScalarFn, X(i) - v)
ONEOP_GPU_FUNCTOR(MulScalarFn, X(i) * v)
ONEOP_GPU_FUNCTOR(DivScalarFn, Quotient(X(i), v))
ONEOP_GPU_FUNCTOR(AddScalarPtrFn, X(i) + Y(0))
ONEOP_GPU_FUNCTOR(SubScalarPtrFn, X(i) - Y(0))
ONEOP_GPU_FUNCTOR(MulScalarPtrFn, X(i) * Y(0))
ONEOP_GPU_FUNCTOR(DivScalarPtrFn, Quotient(X(i), Y(0)))
#undef ONEOP_GPU_FUNCTOR

template <class T>
struct SumFn {
  static constexpr int kMost = 8;
  const T* in[kMost];
  int count;
  __device__ __forceinline__ T operator()(int64_t i) const {
    using W = typename WideOf<T>::type;
    W sum = W(0);
    for (int k = 0; k < count; ++k) {
      sum += static_cast<W>(in[k][i]);
    }
    return static_cast<T>(sum);
  }
};
// y, dense, from x with other strides.
template <class T>
struct StridedFn {
  const T* x;
  int ndim;
  int64_t dims[ONEOP_MAX_DIMS];
  int64_t steps[ONEOP_MAX_DIMS];
  __device__ __forceinline__ T operator()(int64_t i) const {
    int64_t offset = 0;
    for (int k = ndim - 1; k >= 0; --k) {
      offset += i % dims[k] * steps[k];
      i /= dims[k];
    }
    return x[offset];
  }
};
template <class T>
__global__ void AxpyKernel(int64_t n, T alpha, const T* x, int x_step, T* y, int y_step) {
  using W = typename WideOf<T>::type;
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) {
    y[i * y_step] = static_cast<T>(static_cast<W>(y[i * y_step]) +
                                   static_cast<W>(alpha) * static_cast<W>(x[i * x_step]));
  }
}
template <class T>
__global__ void ColumnsKernel(int64_t n, int64_t columns, const T* x, int64_t x_width, T* y,
                              int64_t y_width) {
  CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) {
    y[i / columns * y_width + i % columns] = x[i / columns * x_width + i % columns];
  }
}

}  // namespace on_gpu
}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

template <>
struct NewKernelUtil<kCUDA> {
#define ONEOP_GPU_UNARY(Name, Fn)                                                        \
  template <class T>                                                                     \
  static void Name(DeviceCtx* ctx, int64_t n, const T* x, T* y) {                        \
    ::oneop::sdk::on_gpu::Each(ctx, n, y, ::oneop::sdk::on_gpu::Fn<T>{x, nullptr, T()}); \
  }
#define ONEOP_GPU_BACKWARD(Name, Fn)                                                      \
  template <class T>                                                                      \
  static void Name(DeviceCtx* ctx, int64_t n, const T*, const T* y, const T* dy, T* dx) { \
    ::oneop::sdk::on_gpu::Each(ctx, n, dx, ::oneop::sdk::on_gpu::Fn<T>{y, dy, T()});      \
  }
#define ONEOP_GPU_BY_SCALAR(Name)                                                                  \
  template <class T>                                                                               \
  static void Name##ByScalar(DeviceCtx* ctx, int64_t n, const T* x, T y, T* z) {                   \
    ::oneop::sdk::on_gpu::Each(ctx, n, z, ::oneop::sdk::on_gpu::Name##ScalarFn<T>{x, nullptr, y}); \
  }                                                                                                \
  template <class T>                                                                               \
  static void Name##ByScalarPtr(DeviceCtx* ctx, int64_t n, const T* x, const T* y, T* z) {         \
    ::oneop::sdk::on_gpu::Each(ctx, n, z, ::oneop::sdk::on_gpu::Name##ScalarPtrFn<T>{x, y, T()});  \
  }
  template <class T>
  static void Fill(DeviceCtx* ctx, int64_t n, std::common_type_t<T> value, T* y) {
    ::oneop::sdk::on_gpu::Each(ctx, n, y, ::oneop::sdk::on_gpu::FillFn<T>{nullptr, nullptr, value});
  }
  ONEOP_GPU_UNARY(Relu, ReluFn)
  ONEOP_GPU_UNARY(Sigmoid, SigmoidFn)
  ONEOP_GPU_UNARY(TanH, TanhFn)
  ONEOP_GPU_BACKWARD(ReluBackward, MaskByFn)
  ONEOP_GPU_BACKWARD(SigmoidBackward, SigmoidGradFn)
  ONEOP_GPU_BACKWARD(TanHBackward, TanhGradFn)
  ONEOP_GPU_BY_SCALAR(Add)
  ONEOP_GPU_BY_SCALAR(Sub)
  ONEOP_GPU_BY_SCALAR(Mul)
  ONEOP_GPU_BY_SCALAR(Div)
#undef ONEOP_GPU_UNARY
#undef ONEOP_GPU_BACKWARD
#undef ONEOP_GPU_BY_SCALAR

  template <class T>
  static void Axpy(DeviceCtx* ctx, int n, T alpha, const T* x, int x_step, T* y, int y_step) {
    CHECK_NE(y_step, 0);  // threads would write one element
    RUN_CUDA_KERNEL((::oneop::sdk::on_gpu::AxpyKernel<T>), ctx, n, n, alpha,
                    cblas_begin(n, x, x_step), x_step, cblas_begin(n, y, y_step), y_step);
  }
  template <class T>
  static void Transpose(DeviceCtx* ctx, int32_t num_axes, const ShapeView& x_shape,
                        const ShapeView&, const std::vector<int32_t>& permutation, int64_t n,
                        const T* x, T* y) {
    ::oneop::sdk::on_gpu::StridedFn<T> from = {};
    from.x = x;
    from.ndim = num_axes;
    for (int32_t i = 0; i != num_axes; ++i) {
      const int32_t axis = permutation.at(static_cast<size_t>(i));
      from.dims[i] = x_shape.At(axis);
      from.steps[i] = x_shape.Count(axis + 1);
    }
    ::oneop::sdk::on_gpu::Each(ctx, n, y, from);
  }
  // Some columns of each row, from one matrix into another.
  template <class T>
  static void CopyColsRegion(DeviceCtx* ctx, int64_t rows, int64_t columns, const T* x,
                             int64_t x_first, int64_t x_width, T* y, int64_t y_first,
                             int64_t y_width) {
    const int64_t n = rows * columns;
    RUN_CUDA_KERNEL((::oneop::sdk::on_gpu::ColumnsKernel<T>), ctx, n, n, columns, x + x_first,
                    x_width, y + y_first, y_width);
  }
};

template <class T>
struct KernelUtil<kCUDA, T> {
  template <class... X>
  static void Addition(DeviceCtx* ctx, int64_t n, T* out, const X*... in) {
    static_assert(sizeof...(X) <= ::oneop::sdk::on_gpu::SumFn<T>::kMost, "at most 8 tensors");
    ::oneop::sdk::on_gpu::Each(
        ctx, n, out, ::oneop::sdk::on_gpu::SumFn<T>{{in...}, static_cast<int>(sizeof...(X))});
  }
  static void Mul(DeviceCtx* ctx, int64_t n, const T* x, const T* y, T* z) {
    ::oneop::sdk::on_gpu::Each(ctx, n, z, ::oneop::sdk::on_gpu::MulFn<T>{x, y, T()});
  }
  static void AddByScalar(DeviceCtx* ctx, int64_t n, const T* x, T y, T* z) {
    NewKernelUtil<kCUDA>::AddByScalar(ctx, n, x, y, z);
  }
  static void Sqrt(DeviceCtx* ctx, int64_t n, const T* x, T* y) {
    ::oneop::sdk::on_gpu::Each(ctx, n, y, ::oneop::sdk::on_gpu::SqrtFn<T>{x, nullptr, T()});
  }
  static void Set(DeviceCtx* ctx, T value, T* y) { NewKernelUtil<kCUDA>::Fill(ctx, 1, value, y); }
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // __CUDACC__

#endif  // ONEOP_SDK_PORT_KERNEL_UTIL_CUDA_H_
