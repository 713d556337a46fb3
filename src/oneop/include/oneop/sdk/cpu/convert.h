// A number of one type as one of another, with a defined result for every value.
#ifndef ONEOP_SDK_CPU_CONVERT_H_
#define ONEOP_SDK_CPU_CONVERT_H_

#include <cstdint>
#include <type_traits>

#include "oneop/sdk/config.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// C++ leaves open what an integer is that is made of a floating-point number beyond its range, and
// processors differ. Here the number goes through int64_t, whose last bits the integer gets: -1.0
// is 255 as uint8_t, 300.0 is 44. Beyond int64_t it is the nearest int64_t; not a number is 0. A
// uint64_t holds what it can.
template <class To, class From>
OF_DEVICE_FUNC To NumberAs(From value) {
  if constexpr (!std::is_arithmetic_v<From>) {  // half precision
    return NumberAs<To>(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                       !std::is_same_v<To, bool>) {
    constexpr From kEnd = static_cast<From>(9223372036854775808.0);  // 2^63
    if (value >= -kEnd && value < kEnd) {
      return static_cast<To>(static_cast<int64_t>(value));
    }
    if (value >= kEnd && std::is_unsigned_v<To> && sizeof(To) == 8) {
      return value < 2 * kEnd ? static_cast<To>(static_cast<uint64_t>(value)) : static_cast<To>(-1);
    }
    return static_cast<To>(value >= kEnd ? INT64_MAX : value < 0 ? INT64_MIN : 0);
  } else {
    return static_cast<To>(value);
  }
}

// A block of numbers. Where all are in range, as they nearly always are, the compiler's own
// conversion does, which uses vectors. So does the question: of the bits of numbers below 2^n those
// of 2^n can be taken, and the first bit is set; that of one that is too large, infinite or no
// number is not.
constexpr int64_t kConvertBlock = 512;
template <class From, class To>
bool IsBlockInRange(const From* in) {
  using Bits = std::conditional_t<sizeof(From) == 8, uint64_t, uint32_t>;
  constexpr Bits kFirst = Bits{1} << (8 * sizeof(From) - 1);
  constexpr int kPower = 8 * sizeof(To) - (std::is_signed_v<To> ? 1 : 0);
  constexpr int kMantissa = sizeof(From) == 8 ? 52 : 23, kBias = sizeof(From) == 8 ? 1023 : 127;
  constexpr Bits kEnd = static_cast<Bits>(kPower + kBias) << kMantissa;  // 2^kPower
  // Four vectors, so that no step waits for the one before it.
  typedef Bits Vector __attribute__((vector_size(16)));
  constexpr int64_t kWidth = 16 / sizeof(Bits);
  const auto below = [](const From* at) {
    Vector bits;
    __builtin_memcpy(&bits, at, sizeof bits);
    return std::is_signed_v<To> ? (bits & ~kFirst) - kEnd : (bits - kEnd) & ~bits;
  };
  Vector a = below(in), b = a, c = a, d = a;
  for (int64_t i = 0; i < kConvertBlock; i += 4 * kWidth) {
    a &= below(in + i);
    b &= below(in + i + kWidth);
    c &= below(in + i + 2 * kWidth);
    d &= below(in + i + 3 * kWidth);
  }
  a &= b & c & d;
  Bits all = kFirst;
  for (int64_t k = 0; k < kWidth; ++k) {
    all &= a[k];
  }
  return all != 0;
}
template <class From, class To>
void ConvertBlock(const From* in, To* out) {
  if (IsBlockInRange<From, To>(in)) {
    for (int64_t i = 0; i < kConvertBlock; ++i) {
      out[i] = static_cast<To>(in[i]);
    }
  } else {
    for (int64_t i = 0; i < kConvertBlock; ++i) {
      out[i] = NumberAs<To>(in[i]);
    }
  }
}
// The same as NumberAs for each; as bool, everything but zero is true.
template <class From, class To>
void ConvertNumbers(const From* in, To* out, int64_t count) {
  int64_t done = 0;
  if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && !std::is_integral_v<From>) {
    done = count / kConvertBlock * kConvertBlock;
    for (int64_t i = 0; i < done; i += kConvertBlock) {
      if constexpr (std::is_floating_point_v<From>) {
        ConvertBlock(in + i, out + i);
      } else {  // half precision
        float wide[kConvertBlock];
        for (int64_t k = 0; k < kConvertBlock; ++k) {
          wide[k] = static_cast<float>(in[i + k]);
        }
        ConvertBlock(wide, out + i);
      }
    }
  }
  for (int64_t i = done; i < count; ++i) {
    if constexpr (std::is_same_v<To, bool>) {
      out[i] = in[i] != From(0);
    } else {
      out[i] = NumberAs<To>(in[i]);
    }
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_CONVERT_H_
