// exp, expm1, tanh and sigmoid for loops that the compiler turns into vector instructions.
//
// No branches, tables or calls: every result comes from arithmetic, bit patterns and selections, so
// a loop over these functions is vectorised with the default flags on any processor. Errors are at
// most 1.5 units in the last place for exp, 2 for expm1 and 3 for tanh and sigmoid; infinities,
// NaN, denormal numbers and signed zeros give what the C library gives. tests/op_h/test_math.py
// measures that.
#ifndef ONEOP_OP_MATH_EXP_H_
#define ONEOP_OP_MATH_EXP_H_

#include <cstdint>

#include "oneop/sdk/config.h"

ONEOP_OP_INTERFACE

// A call in a loop ends vectorisation, so these are inlined even where the compiler would not.
#define ONEOP_INLINE __attribute__((always_inline)) inline

namespace oneop ONEOP_HIDDEN {
namespace vector_math {

ONEOP_INLINE uint32_t BitsOf(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
ONEOP_INLINE uint64_t BitsOf(double value) {
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
ONEOP_INLINE float FloatOf(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
ONEOP_INLINE double DoubleOf(uint64_t bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Added and taken away again it rounds to an integer, which then stands in the lowest bits.
constexpr float kRoundFloat = 12582912.0f;           // 1.5 * 2^23
constexpr double kRoundDouble = 6755399441055744.0;  // 1.5 * 2^52

// 2^n for whole n from -126 to 127, or -1022 to 1023.
ONEOP_INLINE float PowerOf2(float n) { return FloatOf((BitsOf(n + kRoundFloat) + 127u) << 23); }
ONEOP_INLINE double PowerOf2(double n) {
  return DoubleOf((BitsOf(n + kRoundDouble) + 1023u) << 52);
}

// e^x = 2^n * (1 + p). `n` is split in two where 2^n itself is no normal number.
struct FloatExp {
  float n, p;
};
struct DoubleExp {
  double n, p;
};

ONEOP_INLINE FloatExp Split(float x) {
  const float n = (x * 1.44269504f + kRoundFloat) - kRoundFloat;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  // In pairs: a chain of products would wait for each of them.
  const float z = r * r;
  const float low = 1.66665182e-1f * r + 5.00000009e-1f;
  const float high = (1.39503634e-3f * r + 8.36896678e-3f) * r + 4.16662075e-2f;
  return {n, (high * z + low) * z + r};
}
ONEOP_INLINE DoubleExp Split(double x) {
  const double n = (x * 1.4426950408889634 + kRoundDouble) - kRoundDouble;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  const double z = r * r, w = z * z;
  const double a = 0.16666666666666685 * r + 0.5;
  const double b = 0.0083333333333166296 * r + 0.041666666666666727;
  const double c = 0.00019841269897339663 * r + 0.0013888888888858621;
  const double d = 2.7557233948376996e-06 * r + 2.4801587373400069e-05;
  const double e =
      (2.092686017036777e-09 * r + 2.5112342701658886e-08) * r + 2.7557233639610969e-07;
  const double low = b * z + a, high = (e * z + d) * z + c;
  return {n, (high * w + low) * z + r};
}

// Limits are checked at the end and as bits. A comparison of floats is never the opposite of
// another, because of NaN; the compiler pays for that with a dozen instructions.
ONEOP_INLINE int32_t MagnitudeOf(float x) { return static_cast<int32_t>(BitsOf(x) & 0x7fffffffu); }
ONEOP_INLINE int64_t MagnitudeOf(double x) {
  return static_cast<int64_t>(BitsOf(x) & 0x7fffffffffffffffu);
}
ONEOP_INLINE float exp(float x) {
  const FloatExp e = Split(x);
  const float half = (e.n * 0.5f + kRoundFloat) - kRoundFloat;
  const float result = (1.0f + e.p) * PowerOf2(half) * PowerOf2(e.n - half);
  const int32_t sign = static_cast<int32_t>(BitsOf(x)) >> 31;
  const float beyond = FloatOf(~static_cast<uint32_t>(sign) & 0x7f800000u);  // 0 or infinity
  const float number = MagnitudeOf(x) > 0x42d00000 ? beyond : result;        // 104
  return MagnitudeOf(x) > 0x7f800000 ? x : number;
}
ONEOP_INLINE double exp(double x) {
  const DoubleExp e = Split(x);
  const double half = (e.n * 0.5 + kRoundDouble) - kRoundDouble;
  const double result = (1.0 + e.p) * PowerOf2(half) * PowerOf2(e.n - half);
  const double beyond = static_cast<int64_t>(BitsOf(x)) < 0 ? 0.0 : __builtin_inf();
  const double number = MagnitudeOf(x) > 0x4087500000000000 ? beyond : result;  // 746
  return MagnitudeOf(x) > 0x7ff0000000000000 ? x : number;
}

// Small x come back unchanged, which keeps -0 and denormal numbers.
ONEOP_INLINE float expm1(float x) {
  const FloatExp e = Split(x);
  const float half = (e.n * 0.5f + kRoundFloat) - kRoundFloat;
  const float first = PowerOf2(half), second = PowerOf2(e.n - half);
  // (p * 2^n) + (2^n - 1), where 2^n may be infinite although the sum is not
  const float near_zero = e.p * first * second + (first * second - 1.0f);
  const float large = (1.0f + e.p) * first * second;
  const float result = e.n > 60.0f ? large : near_zero;
  const float not_large = x > 88.8f ? __builtin_inff() : result;
  const float not_small = x < -30.0f ? -1.0f : not_large;
  return x * x < 1e-16f ? x : not_small;
}
ONEOP_INLINE double expm1(double x) {
  const DoubleExp e = Split(x);
  const double half = (e.n * 0.5 + kRoundDouble) - kRoundDouble;
  const double first = PowerOf2(half), second = PowerOf2(e.n - half);
  const double near_zero = e.p * first * second + (first * second - 1.0);
  const double large = (1.0 + e.p) * first * second;
  const double result = e.n > 100.0 ? large : near_zero;
  const double not_large = x > 709.8 ? __builtin_inf() : result;
  const double not_small = x < -50.0 ? -1.0 : not_large;
  return x * x < 1e-34 ? x : not_small;
}

// With t = e^(-2|x|) - 1, tanh |x| = -t / (2 + t): no cancellation anywhere.
ONEOP_INLINE float tanh(float x) {
  const float t = expm1(-2.0f * __builtin_fabsf(x));
  return __builtin_copysignf(-t / (2.0f + t), x);
}
ONEOP_INLINE double tanh(double x) {
  const double t = expm1(-2.0 * __builtin_fabs(x));
  return __builtin_copysign(-t / (2.0 + t), x);
}

// With e = e^(-|x|), which never overflows.
ONEOP_INLINE float sigmoid(float x) {
  const float e = exp(-__builtin_fabsf(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
ONEOP_INLINE double sigmoid(double x) {
  const double e = exp(-__builtin_fabs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

}  // namespace vector_math
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_MATH_EXP_H_
