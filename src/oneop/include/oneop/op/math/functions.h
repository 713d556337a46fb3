// The functions of numbers that functors use: exp, log, tanh, sqrt, erf, sin, cos, abs, min, max,
// select and others. On the GPU they are CUDA's.
#ifndef ONEOP_OP_MATH_FUNCTIONS_H_
#define ONEOP_OP_MATH_FUNCTIONS_H_

#include "oneop/op/math/log.h"
#include "oneop/op/math/number.h"
#include "oneop/op/math/trig.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// Functions of whole numbers are worked out in double, as the C library does.
template <class T>
using Real = std::conditional_t<std::is_floating_point_v<T>, T, double>;

}  // namespace op

#if defined(__CUDA_ARCH__)
#define ONEOP_FUNCTION(name, device, on_host) \
  template <class T>                          \
  ONEOP_BOTH auto name(Number<T> x) {         \
    using R = op::Real<T>;                    \
    const R a = static_cast<R>(x.value);      \
    return Number<R>(device(a));              \
  }
#else
#define ONEOP_FUNCTION(name, device, on_host) \
  template <class T>                          \
  ONEOP_BOTH auto name(Number<T> x) {         \
    using R = op::Real<T>;                    \
    const R a = static_cast<R>(x.value);      \
    return Number<R>(on_host(a));             \
  }
#endif

namespace op {
ONEOP_BOTH float SquareRoot(float x) { return __builtin_sqrtf(x); }
ONEOP_BOTH double SquareRoot(double x) { return __builtin_sqrt(x); }
ONEOP_BOTH float Floor(float x) { return __builtin_floorf(x); }
ONEOP_BOTH double Floor(double x) { return __builtin_floor(x); }
ONEOP_BOTH float Ceil(float x) { return __builtin_ceilf(x); }
ONEOP_BOTH double Ceil(double x) { return __builtin_ceil(x); }
ONEOP_BOTH float Round(float x) { return __builtin_rintf(x); }
ONEOP_BOTH double Round(double x) { return __builtin_rint(x); }
ONEOP_BOTH float Power(float x, float y) { return __builtin_powf(x, y); }
ONEOP_BOTH double Power(double x, double y) { return __builtin_pow(x, y); }
#if defined(__CUDA_ARCH__)
ONEOP_BOTH float Sigmoid(float x) { return 1.0f / (1.0f + ::exp(-x)); }
ONEOP_BOTH double Sigmoid(double x) { return 1.0 / (1.0 + ::exp(-x)); }
#endif
}  // namespace op

ONEOP_FUNCTION(exp, ::exp, vector_math::exp)
ONEOP_FUNCTION(expm1, ::expm1, vector_math::expm1)
ONEOP_FUNCTION(log, ::log, vector_math::log)
ONEOP_FUNCTION(log1p, ::log1p, vector_math::log1p)
ONEOP_FUNCTION(tanh, ::tanh, vector_math::tanh)
ONEOP_FUNCTION(sigmoid, op::Sigmoid, vector_math::sigmoid)
ONEOP_FUNCTION(erf, ::erf, vector_math::erf)
ONEOP_FUNCTION(sin, ::sin, vector_math::sin)
ONEOP_FUNCTION(cos, ::cos, vector_math::cos)
ONEOP_FUNCTION(sqrt, op::SquareRoot, op::SquareRoot)
ONEOP_FUNCTION(floor, op::Floor, op::Floor)
ONEOP_FUNCTION(ceil, op::Ceil, op::Ceil)
ONEOP_FUNCTION(round, op::Round, op::Round)  // halves to even, as torch.round
#undef ONEOP_FUNCTION

template <class T>
ONEOP_BOTH Number<T> abs(Number<T> x) {
  if constexpr (std::is_same_v<T, float>) {
    return Number<T>(__builtin_fabsf(x.value));
  } else if constexpr (std::is_same_v<T, double>) {
    return Number<T>(__builtin_fabs(x.value));
  } else {
    return x.value < T(0) ? -x : x;
  }
}
template <class T>
ONEOP_BOTH bool isnan(Number<T> x) {
  return x.value != x.value;
}
template <class T>
ONEOP_BOTH auto rsqrt(Number<T> x) {
  return 1 / sqrt(x);
}

// Two arguments, of which one may be a plain number: both become numbers of one type.
namespace op {
template <class A, class B>
using Joined = decltype(std::declval<A>() + std::declval<B>());
template <class A, class B>
using EnableJoined = std::enable_if_t<IsNumber<A>::value || IsNumber<B>::value>;
}  // namespace op

// A NaN wins, as in torch.maximum and torch.minimum.
template <class A, class B, class = op::EnableJoined<A, B>>
ONEOP_BOTH auto max(A a, B b) {
  using N = op::Joined<A, B>;
  const N x(a), y(b);
  return x.value >= y.value || x.value != x.value ? x : y;
}
template <class A, class B, class = op::EnableJoined<A, B>>
ONEOP_BOTH auto min(A a, B b) {
  using N = op::Joined<A, B>;
  const N x(a), y(b);
  return x.value <= y.value || x.value != x.value ? x : y;
}
template <class X, class L, class H, class = op::EnableJoined<X, L>>
ONEOP_BOTH auto clamp(X x, L low, H high) {
  return min(max(x, low), high);
}
// `a` where the condition holds, else `b`; both are worked out.
template <class A, class B, class = op::EnableJoined<A, B>>
ONEOP_BOTH auto select(bool condition, A a, B b) {
  using N = op::Joined<A, B>;
  return condition ? N(a) : N(b);
}
// The C library's: a loop with it is not vectorised.
template <class A, class B, class = op::EnableJoined<A, B>>
ONEOP_BOTH auto pow(A a, B b) {
  using R = op::Real<typename op::Joined<A, B>::type>;
  return Number<R>(op::Power(static_cast<R>(a), static_cast<R>(b)));
}

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_MATH_FUNCTIONS_H_
