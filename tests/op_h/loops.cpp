// A loop over each function of functors; a test asks the compiler which it vectorised.
#include "oneop/op.h"

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

// Kernels of views: what every access checks leaves their loops.
using oneop::View;
OP("loops_linear(Tensor x, Tensor z) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto z, auto y) {
      for (int64_t i = 0; i != x.numel(); ++i) y[i] = x[i] + z[i];
    });
OP("loops_sized(Tensor x) -> Tensor y").same_shape().kernel<float>([](auto x, auto y) {
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = 2 * x[i];
});
OP("loops_indexed(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](View<const float, 2> x, View<float, 2> y) {
      for (int64_t i = 0; i != x.size(0); ++i) {
        for (int64_t j = 0; j != x.size(1); ++j) y(i, j) = 2 * x(i, j);
      }
    });
OP("loops_ranked(Tensor x) -> Tensor y").same_shape().kernel<float>([](auto x, auto y) {
  const auto a = oneop::view<2>(x);
  const auto b = oneop::view<2>(y);
  for (int64_t i = 0; i != a.size(0); ++i) {
    for (int64_t j = 0; j != a.size(1); ++j) b(i, j) = 2 * a(i, j);
  }
});
// Bytes of bools are compared with 0 on the way.
void Bools(const unsigned char* c, const float* x, float* y, int64_t n) {
  const auto functor = [](auto keep, auto a) { return select(keep.value, a, -a); };
  using Readers = oneop::op::Types<>;
  using Invoked = oneop::op::Invocation<decltype(functor), oneop::op::Types<bool, float>, Readers>;
  ONEOP_IVDEP
  for (int64_t i = 0; i < n; ++i) y[i] = Invoked::Call(functor, c[i] != 0, x[i]).value;
}
