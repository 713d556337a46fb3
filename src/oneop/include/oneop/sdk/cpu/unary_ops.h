// The functions of one number, over contiguous elements.
#ifndef ONEOP_SDK_CPU_UNARY_OPS_H_
#define ONEOP_SDK_CPU_UNARY_OPS_H_

#include "oneflow/core/ep/include/primitive/unary_op.h"
#include "oneop/sdk/cpu/convert.h"
#include "oneop/sdk/cpu/special.h"
#include "oneop/sdk/cpu/types.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

using oneflow::ep::primitive::UnaryOp;

template <class T, class R, class F>
bool MapElements(const T* x, R* y, int64_t n, const F& fn) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = static_cast<R>(fn(x[i]));
  }
  return true;
}

// x * P(X < x) of a normal X, and its tanh form.
template <class T>
T Gelu(T x) {
  return T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440)));
}
template <class T>
T TanhGelu(T x) {
  return T(0.5) * x * (T(1) + std::tanh(T(0.79788456080286535588) * (x + T(0.044715) * x * x * x)));
}
template <class T>
T Sigmoid(T x) {
  return T(1) / (T(1) + std::exp(-x));
}
// log(1 + e^x), without overflow.
template <class T>
T SoftPlus(T x) {
  return (x > T(0) ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
}
template <class T>
T SignOf(T x) {
  return static_cast<T>((T(0) < x) - (x < T(0)));
}

#define ONEOP_UNARY_CASE(name, expression) \
  case UnaryOp::k##name:                   \
    return MapElements(x, y, n, [=](T v) { return static_cast<T>(expression); });

// Of float and double; `a` and `b` are the attributes. False for an op that is none of these; n may
// be 0 to ask.
// long: a table, one line for each function
template <class T>
bool RunUnary(UnaryOp op, double a_, double b_, const T* x, T* y, int64_t n) {
  const T a = static_cast<T>(a_), b = static_cast<T>(b_);
  const T zero = 0, one = 1;
  (void)a, (void)b, (void)zero, (void)one;
  switch (op) {
    ONEOP_UNARY_CASE(Identity, v)
    ONEOP_UNARY_CASE(Elu, v > zero ? v : a * std::expm1(v))
    ONEOP_UNARY_CASE(Celu, v > zero ? v : a * std::expm1(v / a))
    ONEOP_UNARY_CASE(Relu, v > zero ? v : v != v ? v : zero)
    ONEOP_UNARY_CASE(Gelu, Gelu(v))
    ONEOP_UNARY_CASE(HardSwish, v <= T(-3) ? zero : v >= T(3) ? v : v * (v + T(3)) / T(6))
    ONEOP_UNARY_CASE(HardSigmoid, v <= T(-3) ? zero : v >= T(3) ? one : v / T(6) + T(0.5))
    ONEOP_UNARY_CASE(HardShrink, v <= a && v >= -a ? zero : v)
    ONEOP_UNARY_CASE(HardTanh, v <= a ? a : v >= b ? b : v)
    ONEOP_UNARY_CASE(LeakyRelu, v > zero ? v : a * v)
    ONEOP_UNARY_CASE(Mish, v * std::tanh(SoftPlus(v)))
    ONEOP_UNARY_CASE(
        Selu, T(1.0507009873554804934) * (v > zero ? v : T(1.6732632423543772848) * std::expm1(v)))
    ONEOP_UNARY_CASE(Silu, v * Sigmoid(v))
    ONEOP_UNARY_CASE(SoftShrink, v > a ? v - a : v < -a ? v + a : v != v ? v : zero)
    ONEOP_UNARY_CASE(SoftSign, v / (one + std::abs(v)))
    ONEOP_UNARY_CASE(SoftPlus, v * a > b ? v : SoftPlus(v * a) / a)
    ONEOP_UNARY_CASE(Tanh, std::tanh(v))
    ONEOP_UNARY_CASE(Threshold, v <= a ? b : v)
    ONEOP_UNARY_CASE(FastGelu, TanhGelu(v))
    ONEOP_UNARY_CASE(QuickGelu, v * Sigmoid(T(1.702) * v))
    ONEOP_UNARY_CASE(SquareReLU, v > zero ? v * v : v != v ? v : zero)
    ONEOP_UNARY_CASE(Abs, std::abs(v))
    ONEOP_UNARY_CASE(Acos, std::acos(v))
    ONEOP_UNARY_CASE(Acosh, std::acosh(v))
    ONEOP_UNARY_CASE(Asin, std::asin(v))
    ONEOP_UNARY_CASE(Asinh, std::asinh(v))
    ONEOP_UNARY_CASE(Atan, std::atan(v))
    ONEOP_UNARY_CASE(Atanh, std::atanh(v))
    ONEOP_UNARY_CASE(Ceil, std::ceil(v))
    ONEOP_UNARY_CASE(Cos, std::cos(v))
    ONEOP_UNARY_CASE(Cosh, std::cosh(v))
    ONEOP_UNARY_CASE(Digamma, Digamma(v))
    ONEOP_UNARY_CASE(Trigamma, Trigamma(v))
    ONEOP_UNARY_CASE(Erf, std::erf(v))
    ONEOP_UNARY_CASE(Erfc, std::erfc(v))
    ONEOP_UNARY_CASE(Exp, std::exp(v))
    ONEOP_UNARY_CASE(Exp2, std::exp2(v))
    ONEOP_UNARY_CASE(Expm1, std::expm1(v))
    ONEOP_UNARY_CASE(Floor, std::floor(v))
    ONEOP_UNARY_CASE(Lgamma, LogGamma(v))
    ONEOP_UNARY_CASE(Log, std::log(v))
    ONEOP_UNARY_CASE(Log2, std::log2(v))
    ONEOP_UNARY_CASE(Log10, std::log10(v))
    ONEOP_UNARY_CASE(Log1p, std::log1p(v))
    ONEOP_UNARY_CASE(LogSigmoid, -SoftPlus(-v))
    ONEOP_UNARY_CASE(Negative, -v)
    ONEOP_UNARY_CASE(Reciprocal, one / v)
    ONEOP_UNARY_CASE(ReciprocalNoNan, v == zero ? zero : one / v)
    ONEOP_UNARY_CASE(Rint, std::nearbyint(v))
    ONEOP_UNARY_CASE(Round, std::nearbyint(v))
    ONEOP_UNARY_CASE(Rsqrt, one / std::sqrt(v))
    ONEOP_UNARY_CASE(Sigmoid, Sigmoid(v))
    ONEOP_UNARY_CASE(Sign, SignOf(v))
    ONEOP_UNARY_CASE(Sin, std::sin(v))
    ONEOP_UNARY_CASE(Sinh, std::sinh(v))
    ONEOP_UNARY_CASE(Sqrt, std::sqrt(v))
    ONEOP_UNARY_CASE(Square, v * v)
    ONEOP_UNARY_CASE(Tan, std::tan(v))
    ONEOP_UNARY_CASE(Trunc, std::trunc(v))
    ONEOP_UNARY_CASE(NotEqualZero, v != zero)
    ONEOP_UNARY_CASE(NanAssign, v != v ? zero : v)
    default:
      return false;
  }
}

// Of integers: those that stay integers.
template <class T>
bool RunIntegerUnary(UnaryOp op, double a_, double b_, const T* x, T* y, int64_t n) {
  const T a = NumberAs<T>(a_), b = NumberAs<T>(b_), zero = 0;
  (void)a, (void)b;
  switch (op) {
    ONEOP_UNARY_CASE(Identity, v)
    ONEOP_UNARY_CASE(Relu, v > zero ? v : zero)
    ONEOP_UNARY_CASE(HardTanh, v <= a ? a : v >= b ? b : v)
    ONEOP_UNARY_CASE(Threshold, v <= a ? b : v)
    ONEOP_UNARY_CASE(Abs, v < zero ? -v : v)
    ONEOP_UNARY_CASE(Negative, -v)
    ONEOP_UNARY_CASE(Sign, SignOf(v))
    ONEOP_UNARY_CASE(Square, v * v)
    ONEOP_UNARY_CASE(Ceil, v)
    ONEOP_UNARY_CASE(Floor, v)
    ONEOP_UNARY_CASE(Rint, v)
    ONEOP_UNARY_CASE(Round, v)
    ONEOP_UNARY_CASE(Trunc, v)
    ONEOP_UNARY_CASE(NotEqualZero, v != zero)
    case UnaryOp::kBitwiseNot:
      return MapElements(x, y, n, [](T v) {
        if constexpr (std::is_same_v<T, bool>) {
          return !v;
        } else {
          return static_cast<T>(~v);
        }
      });
    default:
      return false;
  }
}
#undef ONEOP_UNARY_CASE

// Questions about a number. Half precision is asked as float.
template <class T>
bool RunTest(UnaryOp op, const T* x, bool* y, int64_t n) {
  switch (op) {
    case UnaryOp::kLogicalNot:
      return MapElements(x, y, n, [](T v) { return v == T(0); });
    case UnaryOp::kNotEqualZero:
      return MapElements(x, y, n, [](T v) { return v != T(0); });
    case UnaryOp::kIsInf:
      return MapElements(x, y, n,
                         [](T v) { return !std::is_integral_v<T> && v == v && v - v != v - v; });
    case UnaryOp::kIsNan:
      return MapElements(x, y, n, [](T v) { return v != v; });
    case UnaryOp::kIsFinite:
      return MapElements(x, y, n, [](T v) { return std::is_integral_v<T> || v - v == v - v; });
    default:
      return false;
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_UNARY_OPS_H_
