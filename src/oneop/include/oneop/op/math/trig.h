// sin and cos for loops that the compiler turns into vector instructions; see exp.h.
//
// For float, over the whole range: errors are at most 2 units in the last place. For double the C
// library's functions are called, so such a loop is not vectorised.
#ifndef ONEOP_OP_MATH_TRIG_H_
#define ONEOP_OP_MATH_TRIG_H_

#include "oneop/op/math/exp.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace vector_math {

// The fraction of a product that is exact: 24 bits of a float times 29 bits of the constant.
ONEOP_INLINE double FractionOf(double product) {
  const double above_fractions = 4503599627370496.0;  // 2^52
  return product - ((product + above_fractions) - above_fractions);
}
// The same where the product may be so large that it has none.
ONEOP_INLINE double FractionOfAny(double product) {
  return __builtin_fabs(product) < 0x1p52 ? FractionOf(product) : 0.0;
}

struct Angle {
  float r;            // between -pi/4 and pi/4
  uint32_t quadrant;  // in quarter turns; its lowest bits count
};

// 1/(2 pi) in pieces of 29 bits, so that a float of any size gives its turns without rounding.
ONEOP_INLINE Angle Reduce(float magnitude) {
  const double x = static_cast<double>(magnitude);
  double turns = x * 0x1.c820ff0p-177 + x * 0x1.2b32788p-147;  // less than 2^-18
  turns += FractionOf(x * 0x1.dc0db62p-118);
  turns += FractionOf(x * 0x1.f47d4d3p-88);
  turns += FractionOfAny(x * 0x1.4fe13a8p-61);
  turns += FractionOfAny(x * 0x1.c9c882ap-31);
  turns += FractionOfAny(x * 0x1.45f306cp-3);
  const double quarters = turns * 4.0;
  const double rounded = quarters + kRoundDouble;
  return {static_cast<float>((quarters - (rounded - kRoundDouble)) * 1.5707963267948966),
          static_cast<uint32_t>(BitsOf(rounded))};
}

ONEOP_INLINE float SinOf(float r) {
  const float z = r * r;
  float p = -0.000195875021f;
  p = p * z + 0.00833274665f;
  p = p * z + -0.166666647f;
  return p * z * r + r;
}
ONEOP_INLINE float CosOf(float r) {
  const float z = r * r;
  float p = 2.45475331e-05f;
  p = p * z + -0.00138883013f;
  p = p * z + 0.0416666647f;
  return (p * z) * z + (1.0f - 0.5f * z);
}
// Quadrant 0 of a sine is a sine, 1 a cosine, 2 and 3 the same with another sign.
ONEOP_INLINE float InQuadrant(float r, uint32_t quadrant) {
  const float value = (quadrant & 1) != 0 ? CosOf(r) : SinOf(r);
  return FloatOf(BitsOf(value) ^ ((quadrant & 2) << 30));
}

// Infinity becomes NaN where its fraction is taken.
ONEOP_INLINE float sin(float x) {
  const Angle angle = Reduce(__builtin_fabsf(x));
  const float result = InQuadrant(angle.r, angle.quadrant);
  return FloatOf(BitsOf(result) ^ (BitsOf(x) & 0x80000000u));
}
ONEOP_INLINE float cos(float x) {
  const Angle angle = Reduce(__builtin_fabsf(x));
  return InQuadrant(angle.r, angle.quadrant + 1);
}
ONEOP_INLINE double sin(double x) { return __builtin_sin(x); }
ONEOP_INLINE double cos(double x) { return __builtin_cos(x); }

}  // namespace vector_math
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_MATH_TRIG_H_
