// log, log1p and erf for loops that the compiler turns into vector instructions; see exp.h.
//
// Errors are at most 1 unit in the last place for log, and 2 for log1p and erf.
#ifndef ONEOP_OP_MATH_LOG_H_
#define ONEOP_OP_MATH_LOG_H_

#include "oneop/op/math/exp.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace vector_math {

// x = 2^e * (1 + f) with 1 + f between the roots of 1/2 and 2, and s = f / (2 + f). Then
// log(1 + f) = f - (f^2/2 - s * (f^2/2 + r)) with r a polynomial in s^2.
ONEOP_INLINE float log(float x) {
  const bool is_denormal = x < 1.17549435e-38f;
  const float normal = is_denormal ? x * 8388608.0f : x;  // 2^23
  // Counted from the root of 1/2, so that the mantissa lies around 1.
  const uint32_t shifted = BitsOf(normal) - 0x3f3504f3u;
  const float e =
      static_cast<float>(static_cast<int32_t>(shifted) >> 23) - (is_denormal ? 23.0f : 0.0f);
  const float f = FloatOf((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float s = f / (2.0f + f), z = s * s, half = 0.5f * f * f;
  float r = 0.233334115f;
  r = r * z + 0.28550699f;
  r = r * z + 0.400001231f;
  r = z * (r * z + 0.666666666f);
  const float result = e * 0.693359375f - ((half - (s * (half + r) + e * -2.12194440e-4f)) - f);
  const int32_t bits = static_cast<int32_t>(BitsOf(x));
  const float positive = bits < 0x7f800000 ? result : x;  // infinity and NaN
  const float other = MagnitudeOf(x) == 0 ? -__builtin_inff() : __builtin_nanf("");
  return bits > 0 ? positive : other;
}
ONEOP_INLINE double log(double x) {
  const bool is_denormal = x < 2.2250738585072014e-308;
  const double normal = is_denormal ? x * 4503599627370496.0 : x;  // 2^52
  const uint64_t root = 0x3fe6a09e667f3bcdu;
  // 2^52 holds the exponent as a number in its lowest bits; 2048 keeps it from being negative.
  const uint64_t shifted = BitsOf(normal) - root + (uint64_t{2048} << 52);
  const double biased = DoubleOf((shifted >> 52) | 0x4330000000000000u) - 4503599627370496.0;
  const double signed_e = biased - 2048.0;
  const double e = (signed_e < -1024.0 ? signed_e + 4096.0 : signed_e) - (is_denormal ? 52.0 : 0.0);
  const double f = DoubleOf((shifted & 0x000fffffffffffffu) + root) - 1.0;
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  double r = 0.14619109784708303;
  r = r * z + 0.15331496266032682;
  r = r * z + 0.18182896274679899;
  r = r * z + 0.22222211030313899;
  r = r * z + 0.28571428626666345;
  r = r * z + 0.39999999999897823;
  r = z * (r * z + 0.66666666666666696);
  const double result = e * 6.93147180369123816490e-01 -
                        ((half - (s * (half + r) + e * 1.90821492927058770002e-10)) - f);
  const int64_t bits = static_cast<int64_t>(BitsOf(x));
  const double positive = bits < 0x7ff0000000000000 ? result : x;
  const double other = MagnitudeOf(x) == 0 ? -__builtin_inf() : __builtin_nan("");
  return bits > 0 ? positive : other;
}

// log(u) with u = 1 + x rounded, and what the rounding lost.
ONEOP_INLINE float log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  const float result = log(u) + (u < __builtin_inff() ? lost : 0.0f);
  return x * x < 1e-16f || !(u != 0.0f) ? (u != 0.0f ? x : -__builtin_inff()) : result;
}
ONEOP_INLINE double log1p(double x) {
  const double u = 1.0 + x;
  const double lost = (x - (u - 1.0)) / u;
  const double result = log(u) + (u < __builtin_inf() ? lost : 0.0);
  return x * x < 1e-34 || !(u != 0.0) ? (u != 0.0 ? x : -__builtin_inf()) : result;
}

// Up to 1 a polynomial in x^2; beyond it 1 - e^(polynomial), whose error the small e^... hides.
ONEOP_INLINE float erf(float x) {
  const float t = __builtin_fabsf(x), z = x * x;
  float a = 7.88878824e-05f;
  a = a * z + -0.000802074206f;
  a = a * z + 0.0051895242f;
  a = a * z + -0.0268544388f;
  a = a * z + 0.112836f;
  a = a * z + -0.376126271f;
  a = a * z + 0.128379166f;
  float b = 2.56440373e-07f;
  b = b * t + -2.53870814e-05f;
  b = b * t + 0.000464224746f;
  b = b * t + -0.00428385707f;
  b = b * t + 0.0253765996f;
  b = b * t + -0.108642936f;
  b = b * t + -0.633036492f;
  b = b * t + -1.12966254f;
  b = b * t + 0.000204624367f;
  const float tail = MagnitudeOf(x) > 0x40800000 ? 1.0f : 1.0f - exp(b);  // 4
  const float far = __builtin_copysignf(tail, x);
  const float number = MagnitudeOf(x) < 0x3f800000 ? a * x + x : far;  // 1
  return MagnitudeOf(x) > 0x7f800000 ? x : number;
}
ONEOP_INLINE double erf(double x) {
  const double t = __builtin_fabs(x), z = x * x;
  double a = -7.8010556803012492e-10;
  a = a * z + 1.3722901875488124e-08;
  a = a * z + -1.6209157945885959e-07;
  a = a * z + 1.6447515222121485e-06;
  a = a * z + -1.4924744454532164e-05;
  a = a * z + 0.00012055295309066194;
  a = a * z + -0.00085483259892941109;
  a = a * z + 0.005223977607414599;
  a = a * z + -0.026866170643275074;
  a = a * z + 0.11283791670945245;
  a = a * z + -0.37612638903183548;
  a = a * z + 0.12837916709551256;
  double b = 1.0393075737617746e-12;
  b = b * t + -4.752699868595835e-11;
  b = b * t + 1.0172241886333069e-09;
  b = b * t + -1.3524165922729505e-08;
  b = b * t + 1.2484543657121541e-07;
  b = b * t + -8.4527288983232284e-07;
  b = b * t + 4.3021101359316709e-06;
  b = b * t + -1.6422525734349524e-05;
  b = b * t + 4.477246609114479e-05;
  b = b * t + -6.9755259554818433e-05;
  b = b * t + -4.5948928306477039e-05;
  b = b * t + 0.00064282591620380214;
  b = b * t + -0.0017709190409696664;
  b = b * t + 0.00028222500614276543;
  b = b * t + 0.019076956578983346;
  b = b * t + -0.10274664266599799;
  b = b * t + -0.63662870388701864;
  b = b * t + -1.1283772823264233;
  b = b * t + -1.8439591732745134e-07;
  const double tail = MagnitudeOf(x) > 0x4018000000000000 ? 1.0 : 1.0 - exp(b);  // 6
  const double far = __builtin_copysign(tail, x);
  const double number = MagnitudeOf(x) < 0x3ff0000000000000 ? a * x + x : far;  // 1
  return MagnitudeOf(x) > 0x7ff0000000000000 ? x : number;
}

}  // namespace vector_math
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_MATH_LOG_H_
