// The names of BLAS that kernels use, without a BLAS library.
#ifndef ONEFLOW_CORE_COMMON_BLAS_H_
#define ONEFLOW_CORE_COMMON_BLAS_H_

#include "oneop/sdk/cpu/gemm.h"

enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112, CblasConjTrans = 113 };

namespace oneflow ONEOP_HIDDEN {

// BLAS's rule for a vector of n elements: with a negative step it is read from its end.
template <class T>
T* cblas_begin(int n, T* x, int step) {
  return step < 0 ? x - static_cast<int64_t>(n - 1) * step : x;
}
template <class T>
T cblas_dot(int n, const T* x, int x_step, const T* y, int y_step) {
  x = cblas_begin(n, x, x_step);
  y = cblas_begin(n, y, y_step);
  if constexpr (std::is_integral_v<T>) {
    // One sum, unsigned and wide: it wraps, and gcc 12 compiles lanes of int8 and int16 wrongly.
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      sum += static_cast<uint64_t>(x[i * x_step]) * static_cast<uint64_t>(y[i * y_step]);
    }
    return static_cast<T>(sum);
  }
  using A = typename ::oneop::sdk::AccumulatorOf<T>::type;
  A lanes[8] = {};
  int64_t i = 0;
  for (; x_step == 1 && y_step == 1 && i + 8 <= n; i += 8) {
    for (int64_t k = 0; k != 8; ++k) {
      lanes[k] += static_cast<A>(x[i + k]) * static_cast<A>(y[i + k]);
    }
  }
  for (; i < n; ++i) {
    lanes[0] += static_cast<A>(x[i * x_step]) * static_cast<A>(y[i * y_step]);
  }
  return static_cast<T>(((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                        ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])));
}
template <class T>
void cblas_axpy(int n, T alpha, const T* x, int x_step, T* y, int y_step) {
  x = cblas_begin(n, x, x_step);
  y = cblas_begin(n, y, y_step);
  for (int64_t i = 0; i < n; ++i) {
    y[i * y_step] = static_cast<T>(y[i * y_step] + alpha * x[i * x_step]);
  }
}
template <class T>
void cblas_gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE trans_a, CBLAS_TRANSPOSE trans_b, int m, int n,
                int k, T alpha, const T* a, int a_width, const T* b, int b_width, T beta, T* c,
                int c_width) {
  CHECK(order == CblasRowMajor && c_width == n && a_width == (trans_a == CblasNoTrans ? k : m) &&
        b_width == (trans_b == CblasNoTrans ? n : k))
      << "matrices are row-major and contiguous here";
  ::oneop::sdk::Gemm(trans_a != CblasNoTrans, trans_b != CblasNoTrans, m, n, k,
                     static_cast<double>(alpha), a, b, static_cast<double>(beta), c);
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_BLAS_H_
