// The functions of two numbers, over contiguous elements.
#ifndef ONEOP_SDK_CPU_BINARY_OPS_H_
#define ONEOP_SDK_CPU_BINARY_OPS_H_

#include "oneflow/core/ep/include/primitive/binary_op.h"
#include "oneflow/core/ndarray/binary_func.h"
#include "oneop/sdk/cpu/unary_ops.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

using oneflow::ep::primitive::BinaryOp;

template <class T, class R, class F>
bool ZipElements(const T* x, const T* y, R* z, int64_t n, const F& fn) {
  for (int64_t i = 0; i < n; ++i) {
    z[i] = static_cast<R>(fn(x[i], y[i]));
  }
  return true;
}

// |x - y| <= atol + rtol |y|
template <class T>
bool IsClose(T x, T y, double atol, double rtol) {
  if (x == y) {
    return true;
  }
  const double difference = std::abs(static_cast<double>(x) - static_cast<double>(y));
  return std::isfinite(difference) && difference <= atol + rtol * std::abs(static_cast<double>(y));
}

#define ONEOP_BINARY_CASE(name, expression) \
  case BinaryOp::k##name:                   \
    return ZipElements(x, y, z, n,          \
                       [=](T p, [[maybe_unused]] T q) { return static_cast<T>(expression); });

// What numbers of every type have.
template <class T>
bool RunCommonBinary(BinaryOp op, const T* x, const T* y, T* z, int64_t n) {
  switch (op) {
    ONEOP_BINARY_CASE(Add, p + q)
    ONEOP_BINARY_CASE(Sub, p - q)
    ONEOP_BINARY_CASE(Mul, p * q)
    ONEOP_BINARY_CASE(Max, Larger<T>(p, q))
    ONEOP_BINARY_CASE(Min, Smaller<T>(p, q))
    ONEOP_BINARY_CASE(Pow, Power<T>(p, q))
    ONEOP_BINARY_CASE(Fmod, Remainder<T>(p, q))
    ONEOP_BINARY_CASE(FloorDiv, FloorQuotient<T>(p, q))
    ONEOP_BINARY_CASE(TruncDiv, TruncQuotient<T>(p, q))
    ONEOP_BINARY_CASE(FloorMod, FloorRemainder<T>(p, q))
    ONEOP_BINARY_CASE(Div, Quotient<T>(p, q))
    default:
      return false;
  }
}

// Bits, of integers and bool.
template <class T>
bool RunBits(BinaryOp op, const T* x, const T* y, T* z, int64_t n) {
  switch (op) {
    ONEOP_BINARY_CASE(BitwiseAnd, p & q)
    ONEOP_BINARY_CASE(BitwiseOr, p | q)
    ONEOP_BINARY_CASE(BitwiseXor, p ^ q)
    ONEOP_BINARY_CASE(ReluBackwardWithDyY, q > T(0) ? p : T(0))
    ONEOP_BINARY_CASE(ReluBackwardWithDyX, q > T(0) ? p : T(0))
    ONEOP_BINARY_CASE(IdentityBackwardWithDyX, p)
    default:
      return false;
  }
}

// Gradients of the functions of one number: p is the gradient of the result, q is x or y. `a` and
// `b` are the attributes.
// long: a table, one line for each function
template <class T>
bool RunGrads(BinaryOp op, double a_, double b_, const T* x, const T* y, T* z, int64_t n) {
  const T a = static_cast<T>(a_), b = static_cast<T>(b_), zero = 0, one = 1;
  (void)a, (void)b;
  const T k2OverSqrtPi = static_cast<T>(1.12837916709551257390);  // 2 / sqrt(pi)
  switch (op) {
    ONEOP_BINARY_CASE(ScalarBasePowerGrad, a * Power<T>(p, a - one) * q)
    ONEOP_BINARY_CASE(ScalarExpPowerGrad, Power<T>(a, p) * std::log(a) * q)
    ONEOP_BINARY_CASE(Zeta, HurwitzZeta(p, q))
    ONEOP_BINARY_CASE(IdentityBackwardWithDyX, p)
    ONEOP_BINARY_CASE(EluBackwardWithDyX, q > zero ? p : p * a * std::exp(q))
    ONEOP_BINARY_CASE(CeluBackwardWithDyX, q > zero ? p : p * std::exp(q / a))
    ONEOP_BINARY_CASE(CeluBackwardWithDyY, q > zero ? p : p * (q / a + one))
    ONEOP_BINARY_CASE(GeluBackwardWithDyX,
                      p * (T(0.5) * (one + std::erf(q * T(0.70710678118654752440))) +
                           q * std::exp(T(-0.5) * q * q) * T(0.39894228040143267794)))
    ONEOP_BINARY_CASE(HardswishBackwardWithDyX, q <= T(-3)  ? zero
                                                : q >= T(3) ? p
                                                            : (q / T(3) + T(0.5)) * p)
    ONEOP_BINARY_CASE(HardsigmoidBackwardWithDyX, q <= T(-3) || q >= T(3) ? zero : p / T(6))
    ONEOP_BINARY_CASE(HardshrinkBackwardWithDyY, q == zero ? zero : p)
    ONEOP_BINARY_CASE(HardtanhBackwardWithDyY, q != a && q != b ? p : zero)
    ONEOP_BINARY_CASE(LeakyReluBackwardWithDyX, q > zero ? p : p * a)
    case BinaryOp::kMishBackwardWithDyX:
      return ZipElements(x, y, z, n, [](T p, T q) {
        const T t = std::tanh(SoftPlus(q));
        return p * (t + q * (T(1) - t * t) * Sigmoid(q));
      });
      ONEOP_BINARY_CASE(ReluBackwardWithDyY, q > zero ? p : zero)
      ONEOP_BINARY_CASE(ReluBackwardWithDyX, q > zero ? p : zero)
      ONEOP_BINARY_CASE(
          SeluBackwardWithDyX,
          p * T(1.0507009873554804934) * (q > zero ? one : T(1.6732632423543772848) * std::exp(q)))
      ONEOP_BINARY_CASE(SiluBackwardWithDyX, p * Sigmoid(q) * (one + q * (one - Sigmoid(q))))
      ONEOP_BINARY_CASE(SoftsignBackwardWithDyX, p / ((one + std::abs(q)) * (one + std::abs(q))))
      ONEOP_BINARY_CASE(SoftplusBackwardWithDyX, q * a > b ? p : p * Sigmoid(q * a))
      ONEOP_BINARY_CASE(SoftshrinkBackwardWithDyY, q == zero ? zero : p)
      ONEOP_BINARY_CASE(TanhBackwardWithDyX, p * (one - std::tanh(q) * std::tanh(q)))
      ONEOP_BINARY_CASE(TanhBackwardWithDyY, p * (one - q * q))
      ONEOP_BINARY_CASE(ThresholdBackwardWithDyX, q > a ? p : zero)
      ONEOP_BINARY_CASE(SigmoidBackwardWithDyY, p * q * (one - q))
      ONEOP_BINARY_CASE(SigmoidBackwardWithDyX, p * Sigmoid(q) * (one - Sigmoid(q)))
      ONEOP_BINARY_CASE(AbsBackwardWithDyX, p * SignOf(q))
      ONEOP_BINARY_CASE(AcosBackwardWithDyX, -p / std::sqrt(one - q * q))
      ONEOP_BINARY_CASE(AcoshBackwardWithDyX, p / std::sqrt(q * q - one))
      ONEOP_BINARY_CASE(AsinBackwardWithDyX, p / std::sqrt(one - q * q))
      ONEOP_BINARY_CASE(AsinhBackwardWithDyX, p / std::sqrt(one + q * q))
      ONEOP_BINARY_CASE(AtanBackwardWithDyX, p / (one + q * q))
      ONEOP_BINARY_CASE(AtanhBackwardWithDyX, p / (one - q * q))
      ONEOP_BINARY_CASE(CosBackwardWithDyX, -p * std::sin(q))
      ONEOP_BINARY_CASE(CoshBackwardWithDyX, p * std::sinh(q))
      ONEOP_BINARY_CASE(ErfBackwardWithDyX, p * k2OverSqrtPi * std::exp(-q * q))
      ONEOP_BINARY_CASE(ErfcBackwardWithDyX, -p * k2OverSqrtPi * std::exp(-q * q))
      ONEOP_BINARY_CASE(ExpBackwardWithDyX, p * std::exp(q))
      ONEOP_BINARY_CASE(Exp2BackwardWithDyX, p * std::exp2(q) * T(0.69314718055994530942))
      ONEOP_BINARY_CASE(Expm1BackwardWithDyX, p * std::exp(q))
      ONEOP_BINARY_CASE(LgammaBackwardWithDyX, p * Digamma(q))
      ONEOP_BINARY_CASE(DigammaBackwardWithDyX, p * Trigamma(q))
      ONEOP_BINARY_CASE(LogBackwardWithDyX, p / q)
      ONEOP_BINARY_CASE(Log2BackwardWithDyX, p / (q * T(0.69314718055994530942)))
      ONEOP_BINARY_CASE(Log10BackwardWithDyX, p / (q * T(2.30258509299404568402)))
      ONEOP_BINARY_CASE(Log1pBackwardWithDyX, p / (q + one))
      ONEOP_BINARY_CASE(LogSigmoidBackwardWithDyX, p * Sigmoid(-q))
      ONEOP_BINARY_CASE(ReciprocalBackwardWithDyX, -p / (q * q))
      ONEOP_BINARY_CASE(ReciprocalNoNanBackwardWithDyX, q == zero ? zero : -p / (q * q))
      ONEOP_BINARY_CASE(RsqrtBackwardWithDyX, T(-0.5) * p / (q * std::sqrt(q)))
      ONEOP_BINARY_CASE(SinBackwardWithDyX, p * std::cos(q))
      ONEOP_BINARY_CASE(SinhBackwardWithDyX, p * std::cosh(q))
      ONEOP_BINARY_CASE(SqrtBackwardWithDyX, T(0.5) * p / std::sqrt(q))
      ONEOP_BINARY_CASE(SquareBackwardWithDyX, T(2) * p * q)
      ONEOP_BINARY_CASE(TanBackwardWithDyX, p / (std::cos(q) * std::cos(q)))
    case BinaryOp::kFastGeluBackwardWithDyX:
      return ZipElements(x, y, z, n, [](T p, T q) {
        const T k = T(0.79788456080286535588), c = T(0.044715);
        const T t = std::tanh(k * (q + c * q * q * q));
        return p * T(0.5) * (T(1) + t + q * (T(1) - t * t) * k * (T(1) + T(3) * c * q * q));
      });
    case BinaryOp::kQuickGeluBackwardWithDyX:
      return ZipElements(x, y, z, n, [](T p, T q) {
        const T s = Sigmoid(T(1.702) * q);
        return p * (s + T(1.702) * q * s * (T(1) - s));
      });
      ONEOP_BINARY_CASE(SquareReLUBackwardWithDyX, q > zero ? T(2) * q * p : zero)
    default:
      return false;
  }
}
#undef ONEOP_BINARY_CASE

template <class T>
bool RunComparison(BinaryOp op, double a, double b, const T* x, const T* y, bool* z, int64_t n) {
  switch (op) {
#define ONEOP_COMPARE_CASE(name, expression) \
  case BinaryOp::k##name:                    \
    return ZipElements(x, y, z, n, [=](T p, T q) -> bool { return expression; });
    ONEOP_COMPARE_CASE(Equal, p == q)
    ONEOP_COMPARE_CASE(NotEqual, p != q)
    ONEOP_COMPARE_CASE(LessThan, p < q)
    ONEOP_COMPARE_CASE(LessEqual, p <= q)
    ONEOP_COMPARE_CASE(GreaterThan, p > q)
    ONEOP_COMPARE_CASE(GreaterEqual, p >= q)
    ONEOP_COMPARE_CASE(LogicalAnd, p != T(0) && q != T(0))
    ONEOP_COMPARE_CASE(LogicalOr, p != T(0) || q != T(0))
    ONEOP_COMPARE_CASE(LogicalXor, (p != T(0)) != (q != T(0)))
    ONEOP_COMPARE_CASE(IsClose, IsClose(p, q, a, b))
    ONEOP_COMPARE_CASE(IsCloseEqualNan, (p != p && q != q) || IsClose(p, q, a, b))
#undef ONEOP_COMPARE_CASE
    default:
      return false;
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_BINARY_OPS_H_
