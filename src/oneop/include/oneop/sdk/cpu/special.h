// Functions that <cmath> lacks: digamma, trigamma, the Hurwitz zeta function, the error function's
// scaled derivative.
#ifndef ONEOP_SDK_CPU_SPECIAL_H_
#define ONEOP_SDK_CPU_SPECIAL_H_

#include <cmath>
#include <limits>

#include "oneop/sdk/config.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

constexpr double kPi = 3.14159265358979323846;

// psi(x): by psi(x) = psi(x + 1) - 1 / x up to where the asymptotic series is exact, by reflection
// below zero.
inline double Digamma(double x) {
  if (x == 0) {
    return std::copysign(std::numeric_limits<double>::infinity(), -x);
  }
  double shift = 0;
  if (x < 0) {
    const double whole = std::trunc(x);
    if (x == whole) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    shift = -kPi / std::tan(kPi * (x - whole));
    x = 1 - x;
  }
  for (; x < 10; ++x) {
    shift -= 1 / x;
  }
  const double z = 1 / (x * x);
  const double series =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 -
                                z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return shift + std::log(x) - 0.5 / x - series;
}

// psi'(x), likewise.
inline double Trigamma(double x) {
  double sum = 0, sign = 1;
  if (x < 0.5) {
    const double sine = std::sin(kPi * x);
    sum = kPi * kPi / (sine * sine);
    sign = -1;
    x = 1 - x;
  }
  double own = 0;
  for (; x < 10; ++x) {
    own += 1 / (x * x);
  }
  const double z = 1 / (x * x);
  own += 1 / x + z / 2 +
         z / x *
             (1.0 / 6 -
              z * (1.0 / 30 - z * (1.0 / 42 - z * (1.0 / 30 - z * (5.0 / 66 - z * 691.0 / 2730)))));
  return sum + sign * own;
}

// The sum over k >= 0 of (q + k)^-x, by Euler and Maclaurin.
inline double HurwitzZeta(double x, double q) {
  if (x == 1) {
    return std::numeric_limits<double>::infinity();
  }
  if (!(x > 1)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (q <= 0) {
    if (q == std::floor(q)) {
      return std::numeric_limits<double>::infinity();
    }
    if (x != std::floor(x)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
  }
  double sum = 0;
  for (int i = 0; i < 9 || q <= 9; ++i, ++q) {
    sum += std::pow(q, -x);
  }
  const double power = std::pow(q, -x);
  sum += power * q / (x - 1) + power / 2;
  // B(2k) / (2k)!, times x (x + 1) ... (x + 2k - 2) q^(-x - 2k + 1).
  const double numbers[] = {1.0 / 12,          -1.0 / 720,
                            1.0 / 30240,       -1.0 / 1209600,
                            1.0 / 47900160,    -691.0 / 1307674368000,
                            1.0 / 74724249600, -3617.0 / 10670622842880000};
  double factor = x, term = power / q;
  for (int k = 0; k != 8; ++k) {
    sum += numbers[k] * factor * term;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2);
    term /= q * q;
  }
  return sum;
}

// log |gamma(x)|; the C library's own writes a global.
inline double LogGamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_SPECIAL_H_
