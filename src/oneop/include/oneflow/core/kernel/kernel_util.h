// NewKernelUtil and KernelUtil: what kernels of 2020 and 2021 use for plain arithmetic.
#ifndef ONEFLOW_CORE_KERNEL_KERNEL_UTIL_H_
#define ONEFLOW_CORE_KERNEL_KERNEL_UTIL_H_

#include <cmath>

#include "oneflow/core/common/blas.h"
#include "oneflow/core/common/util.h"
#include "oneflow/core/kernel/new_kernel_util.h"
#include "oneop/sdk/cpu/arithmetic.h"
#include "oneop/sdk/cpu/convert.h"
#include "oneop/sdk/cpu/gemm.h"
#include "oneop/sdk/cpu/limits.h"
#include "oneop/sdk/cpu/transpose.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// y[i] = fn(i), on the host's threads.
template <class T, class F>
void Each(int64_t n, T* y, const F& fn) {
  ParallelElements(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<T>(fn(i));
    }
  });
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

// Kernels round the sizes of outputs up to it when they clear them; here a tensor ends where its
// elements end.
constexpr size_t kBlobBodyAlignSize = 1;

inline bool IsKernelSafeInt32(int64_t n) { return n <= INT32_MAX / 2; }
template <class T, class U>
void CopyElem(const T* from, U* to, int64_t n) {
  ::oneop::sdk::Each(n, to, [=](int64_t i) { return ::oneop::sdk::NumberAs<U>(from[i]); });
}
template <class T>
std::string ToString(const T& value) {
  std::string text;
  ::oneop::sdk::AppendValue(&text, value);
  return text;
}

template <DeviceType device_type>
struct NewKernelUtil {
  static_assert(device_type == kCPU, "NewKernelUtil<kCUDA> needs a .cu file");

  template <class T>
  static void Fill(DeviceCtx*, int64_t n, std::common_type_t<T> value, T* y) {
    ::oneop::sdk::Each(n, y, [=](int64_t) { return value; });
  }
  template <class T>
  static void Relu(DeviceCtx*, int64_t n, const T* x, T* y) {
    ::oneop::sdk::Each(n, y, [=](int64_t i) { return ::oneop::sdk::Larger(x[i], T(0)); });
  }
  template <class T>
  static void ReluBackward(DeviceCtx*, int64_t n, const T*, const T* y, const T* dy, T* dx) {
    ::oneop::sdk::Each(n, dx, [=](int64_t i) { return y[i] > T(0) ? dy[i] : T(0); });
  }
  template <class T>
  static void Sigmoid(DeviceCtx*, int64_t n, const T* x, T* y) {
    ::oneop::sdk::Each(n, y, [=](int64_t i) { return T(1) / (T(1) + std::exp(-x[i])); });
  }
  template <class T>
  static void SigmoidBackward(DeviceCtx*, int64_t n, const T*, const T* y, const T* dy, T* dx) {
    ::oneop::sdk::Each(n, dx, [=](int64_t i) { return y[i] * (T(1) - y[i]) * dy[i]; });
  }
  template <class T>
  static void TanH(DeviceCtx*, int64_t n, const T* x, T* y) {
    ::oneop::sdk::Each(n, y, [=](int64_t i) { return std::tanh(x[i]); });
  }
  template <class T>
  static void TanHBackward(DeviceCtx*, int64_t n, const T*, const T* y, const T* dy, T* dx) {
    ::oneop::sdk::Each(n, dx, [=](int64_t i) { return (T(1) - y[i] * y[i]) * dy[i]; });
  }
  template <class T>
  static void Axpy(DeviceCtx*, int n, T alpha, const T* x, int x_step, T* y, int y_step) {
    cblas_axpy(n, alpha, x, x_step, y, y_step);
  }

#define ONEOP_BY_SCALAR(Name, expression)                                              \
  template <class T>                                                                   \
  static void Name##ByScalar(DeviceCtx*, int64_t n, const T* x, T y, T* z) {           \
    ::oneop::sdk::Each(n, z, [=](int64_t i) { return expression; });                   \
  }                                                                                    \
  template <class T>                                                                   \
  static void Name##ByScalarPtr(DeviceCtx*, int64_t n, const T* x, const T* y, T* z) { \
    ::oneop::sdk::Each(n, z, [=, y = *y](int64_t i) { return expression; });           \
  }
  ONEOP_BY_SCALAR(Add, x[i] + y)
  ONEOP_BY_SCALAR(Sub, x[i] - y)
  ONEOP_BY_SCALAR(Mul, x[i] * y)
  ONEOP_BY_SCALAR(Div, ::oneop::sdk::Quotient<T>(x[i], y))
#undef ONEOP_BY_SCALAR

  // c = alpha * op(a) * op(b) + beta * c, row-major.
  template <class T>
  static void OFGemm(DeviceCtx*, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, int m, int n,
                     int k, double alpha, const T* a, const T* b, double beta, T* c) {
    ::oneop::sdk::Gemm(trans_a != CblasNoTrans, trans_b != CblasNoTrans, m, n, k, alpha, a, b, beta,
                       c);
  }
  template <class T>
  static void OFBatchedGemm(DeviceCtx* ctx, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b,
                            int batch, int m, int n, int k, double alpha, const T* a, const T* b,
                            double beta, T* c, T** /*buffer*/ = nullptr) {
    for (int64_t i = 0; i < batch; ++i) {
      OFGemm(ctx, trans_a, trans_b, m, n, k, alpha, a + i * m * k, b + i * k * n, beta,
             c + i * m * n);
    }
  }

  template <class T>
  static void Transpose(DeviceCtx*, int32_t num_axes, const ShapeView& x_shape, const ShapeView&,
                        const std::vector<int32_t>& permutation, int64_t, const T* x, T* y) {
    auto loop = ::oneop::sdk::PermuteLoop(num_axes, x_shape.ptr(), permutation);
    ::oneop::sdk::CopyElements(&loop, y, x);
  }
  // Some columns of each row, from one matrix into another.
  template <class T>
  static void CopyColsRegion(DeviceCtx*, int64_t rows, int64_t columns, const T* x, int64_t x_first,
                             int64_t x_width, T* y, int64_t y_first, int64_t y_width) {
    ::oneop::sdk::NdLoop<2> loop;
    loop.Add(rows, {y_width, x_width});
    loop.Add(columns, {1, 1});
    ::oneop::sdk::CopyElements(&loop, y + y_first, x + x_first);
  }
};

template <DeviceType device_type, class T>
struct KernelUtil {
  static_assert(device_type == kCPU, "KernelUtil<kCUDA> needs a .cu file");

  static void Dot(DeviceCtx*, int n, const T* x, int x_step, const T* y, int y_step, T* result) {
    *result = cblas_dot<T>(n, x, x_step, y, y_step);
  }
  template <class... X>
  static void Addition(DeviceCtx*, int64_t n, T* out, const X*... in) {
    ::oneop::sdk::Each(n, out, [=](int64_t i) { return (in[i] + ...); });
  }
  static void Mul(DeviceCtx*, int64_t n, const T* x, const T* y, T* z) {
    ::oneop::sdk::Each(n, z, [=](int64_t i) { return x[i] * y[i]; });
  }
  static void AddByScalar(DeviceCtx*, int64_t n, const T* x, T y, T* z) {
    ::oneop::sdk::Each(n, z, [=](int64_t i) { return x[i] + y; });
  }
  static void Sqrt(DeviceCtx*, int64_t n, const T* x, T* y) {
    ::oneop::sdk::Each(n, y, [=](int64_t i) { return std::sqrt(x[i]); });
  }
  static void Set(DeviceCtx*, T value, T* y) { *y = value; }
};

}  // namespace oneflow ONEOP_HIDDEN

#if defined(ONEOP_PORT)
#include "oneop/sdk/port.h"
#endif
#if defined(__CUDACC__)
#include "oneop/sdk/port/kernel_util_cuda.h"
#endif

#endif  // ONEFLOW_CORE_KERNEL_KERNEL_UTIL_H_
