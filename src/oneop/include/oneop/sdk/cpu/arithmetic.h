// Quotients, remainders and powers, with torch's values. Of integers too, where no operand ends the
// process: x / 0 and x % 0 are 0, and the least integer over -1 is itself, as its negation is.
#ifndef ONEOP_SDK_CPU_ARITHMETIC_H_
#define ONEOP_SDK_CPU_ARITHMETIC_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "oneop/sdk/config.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Half precision is computed as float.
template <class T>
using WideFloat = std::conditional_t<std::is_same_v<T, double>, double, float>;

// What the processor does not divide by. Bits are negated without overflow.
template <class T>
OF_DEVICE_FUNC bool IsMinusOne(T y) {
  return std::is_signed_v<T> && y == static_cast<T>(-1);
}
template <class T>
OF_DEVICE_FUNC T Negated(T x) {
  return static_cast<T>(uint64_t{0} - static_cast<uint64_t>(x));
}

// x - y * trunc(x / y)
template <class T>
OF_DEVICE_FUNC T Remainder(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return y == T(0) || IsMinusOne(y) ? T(0) : static_cast<T>(x % y);
  } else {
    return static_cast<T>(std::fmod(static_cast<WideFloat<T>>(x), static_cast<WideFloat<T>>(y)));
  }
}
// x - y * floor(x / y)
template <class T>
OF_DEVICE_FUNC T FloorRemainder(T x, T y) {
  const T rest = Remainder(x, y);
  return rest != T(0) && (y < T(0)) != (rest < T(0)) ? static_cast<T>(rest + y) : rest;
}
// The quotient rounded toward zero.
template <class T>
OF_DEVICE_FUNC T TruncQuotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return y == T(0) ? T(0) : IsMinusOne(y) ? Negated(x) : static_cast<T>(x / y);
  } else {
    return static_cast<T>(std::trunc(static_cast<WideFloat<T>>(x) / static_cast<WideFloat<T>>(y)));
  }
}
// x / y: rounded toward zero where both are integers.
template <class T>
OF_DEVICE_FUNC T Quotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    return TruncQuotient(x, y);
  } else {
    return static_cast<T>(x / y);
  }
}
// The quotient rounded down. Of floating-point numbers it goes with the remainder: floor(x / y) is
// one too much where x / y was rounded up to a whole number, as in 1 / 0.1.
template <class T>
OF_DEVICE_FUNC T FloorQuotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const T quotient = TruncQuotient(x, y), rest = Remainder(x, y);
    return rest != T(0) && (x < T(0)) != (y < T(0)) ? static_cast<T>(quotient - T(1)) : quotient;
  } else {
    using W = WideFloat<T>;
    const W a = static_cast<W>(x), b = static_cast<W>(y);
    if (b == W(0)) {
      return static_cast<T>(a / b);
    }
    const W rest = std::fmod(a, b);
    const W exact = (a - rest) / b;  // whole, but for rounding
    const W below = rest != W(0) && (b < W(0)) != (rest < W(0)) ? exact - W(1) : exact;
    if (below == W(0)) {
      return static_cast<T>(std::copysign(W(0), a / b));
    }
    const W whole = std::floor(below);
    return static_cast<T>(below - whole > W(0.5) ? whole + W(1) : whole);
  }
}

// Of integers it wraps around as products do. To a negative power they are 1, -1 or 0.
template <class T>
OF_DEVICE_FUNC T Power(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y < T(0)) {
      const bool is_odd = (y & 1) != 0;
      return x == T(1) ? T(1) : !IsMinusOne(x) ? T(0) : is_odd ? x : T(1);
    }
    uint64_t product = 1, square = static_cast<uint64_t>(x);
    for (uint64_t left = static_cast<uint64_t>(y); left != 0; left >>= 1) {
      product *= (left & 1) != 0 ? square : 1;
      square *= square;
    }
    return static_cast<T>(product);
  } else {
    return static_cast<T>(std::pow(static_cast<WideFloat<T>>(x), static_cast<WideFloat<T>>(y)));
  }
}

// The larger and the smaller of two numbers; what is no number wins.
template <class T>
OF_DEVICE_FUNC T Larger(T x, T y) {
  return x > y || x != x ? x : y;
}
template <class T>
OF_DEVICE_FUNC T Smaller(T x, T y) {
  return x < y || x != x ? x : y;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_ARITHMETIC_H_
