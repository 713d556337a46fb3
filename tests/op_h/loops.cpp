// A loop over each function of functors; a test asks the compiler which it vectorised.
#include "oneop/op/elementwise.h"

#define LOOPS(name)                                                                 \
  void Float_##name(const float* x, float* y, int64_t n) {                          \
    ONEOP_IVDEP                                                                     \
    for (int64_t i = 0; i < n; ++i) y[i] = name(oneop::Number<float>(x[i])).value;  \
  }                                                                                 \
  void Double_##name(const double* x, double* y, int64_t n) {                       \
    ONEOP_IVDEP                                                                     \
    for (int64_t i = 0; i < n; ++i) y[i] = name(oneop::Number<double>(x[i])).value; \
  }
LOOPS(exp)
LOOPS(expm1)
LOOPS(log)
LOOPS(log1p)
LOOPS(tanh)
LOOPS(sigmoid)
LOOPS(erf)
LOOPS(sqrt)
LOOPS(rsqrt)
LOOPS(abs)
void Float_sin(const float* x, float* y, int64_t n) {
  ONEOP_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = sin(oneop::Number<float>(x[i])).value;
}
void Float_cos(const float* x, float* y, int64_t n) {
  ONEOP_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = cos(oneop::Number<float>(x[i])).value;
}
void Several(const float* x, const float* z, float* y, int64_t n, float alpha) {
  ONEOP_IVDEP
  for (int64_t i = 0; i < n; ++i) {
    const oneop::Number<float> a(x[i]), b(z[i]);
    y[i] = select(a > 0, max(a, b) + 0.5, clamp(alpha * b, -1, 1)).value;
  }
}
