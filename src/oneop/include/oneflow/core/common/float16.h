// 16-bit floating point types for host code; arithmetic goes through float.
#ifndef ONEFLOW_CORE_COMMON_FLOAT16_H_
#define ONEFLOW_CORE_COMMON_FLOAT16_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "oneop/sdk/config.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

OF_DEVICE_FUNC uint32_t BitsOf(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
OF_DEVICE_FUNC float FloatOf(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

OF_DEVICE_FUNC float HalfToFloat(uint16_t half) {
  const uint32_t sign = uint32_t(half & 0x8000u) << 16;
  const uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {
    return FloatOf(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude >= 0x0400u) {
    return FloatOf(sign | ((magnitude << 13) + 0x38000000u));
  }
  // Zero and subnormals count in steps of 2^-24.
  const float value = static_cast<float>(magnitude) * FloatOf(0x33800000u);
  return FloatOf(sign | BitsOf(value));
}

// Rounds to nearest, ties to even; a NaN stays one.
OF_DEVICE_FUNC uint16_t FloatToHalf(float value) {
  const uint32_t bits = BitsOf(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  if (magnitude >= 0x477ff000u) {
    return sign | 0x7c00u;
  }  // rounds to infinity
  if (magnitude < 0x38800000u) {
    // Adding 0.5 lines the bits up with the subnormal steps, and the addition rounds.
    const float aligned = FloatOf(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (BitsOf(aligned) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | (rounded >> 13));
}

OF_DEVICE_FUNC float Bfloat16ToFloat(uint16_t value) { return FloatOf(uint32_t(value) << 16); }
OF_DEVICE_FUNC uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = BitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  }
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

#define ONEOP_FLOAT16_CLASS(Name, FromFloat, ToFloat)                                         \
  struct Name {                                                                               \
    uint16_t x;                                                                               \
    Name() = default;                                                                         \
    template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>                     \
    OF_DEVICE_FUNC Name(T value) : x(::oneop::sdk::FromFloat(static_cast<float>(value))) {}   \
    OF_DEVICE_FUNC operator float() const { return ::oneop::sdk::ToFloat(x); }                \
    OF_DEVICE_FUNC Name& operator+=(Name o) { return *this = Name(float(*this) + float(o)); } \
    OF_DEVICE_FUNC Name& operator-=(Name o) { return *this = Name(float(*this) - float(o)); } \
    OF_DEVICE_FUNC Name& operator*=(Name o) { return *this = Name(float(*this) * float(o)); } \
    OF_DEVICE_FUNC Name& operator/=(Name o) { return *this = Name(float(*this) / float(o)); } \
  };
ONEOP_FLOAT16_CLASS(float16, FloatToHalf, HalfToFloat)
ONEOP_FLOAT16_CLASS(bfloat16, FloatToBfloat16, Bfloat16ToFloat)
#undef ONEOP_FLOAT16_CLASS

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_FLOAT16_H_
