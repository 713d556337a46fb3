// half and bfloat16 in functors: blocks of them become float and go back, without branches, so that
// these loops are vector instructions too.
#ifndef ONEOP_OP_MATH_HALF_H_
#define ONEOP_OP_MATH_HALF_H_

#include "oneflow/core/common/float16.h"
#include "oneop/op/math/exp.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {

#if !defined(__CUDACC__)
using half = ::oneflow::float16;
#else
using half = ::half;
#endif
using bfloat16 = ::oneflow::bfloat16;

namespace op {

#if defined(__aarch64__) && defined(__ARM_FP16_FORMAT_IEEE)
#define ONEOP_HAS_FP16 1
#endif

ONEOP_INLINE float HalfToFloat(uint16_t bits) {
#if defined(ONEOP_HAS_FP16)
  __fp16 half;
  __builtin_memcpy(&half, &bits, sizeof half);
  return static_cast<float>(half);
#else
  using namespace vector_math;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fffu) << 13;
  // A product with 2^112 moves the exponent, and makes normal numbers of subnormal ones.
  const uint32_t scaled = BitsOf(FloatOf(magnitude) * FloatOf(0x77800000u));
  const uint32_t special = magnitude | 0x7f800000u;  // infinity and NaN keep their exponent
  return FloatOf(sign | (magnitude >= 0x0f800000u ? special : scaled));
#endif
}

// Rounds to nearest, ties to even; a NaN stays one. By bits on every processor: g++ 12 vectorises
// the instruction of arm64 in the other direction only.
ONEOP_INLINE uint16_t FloatToHalf(float value) {
  using namespace vector_math;
  const uint32_t bits = BitsOf(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 0.5 lines the bits up with the subnormal steps, and the addition rounds.
  const uint32_t subnormal = BitsOf(FloatOf(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const uint32_t rounded = magnitude >= 0x477ff000u ? 0x7c00u : finite;
  const uint32_t result = magnitude > 0x7f800000u ? 0x7e00u : rounded;
  return static_cast<uint16_t>(result | ((bits >> 16) & 0x8000u));
}

ONEOP_INLINE float Bfloat16ToFloat(uint16_t bits) {
  return vector_math::FloatOf(static_cast<uint32_t>(bits) << 16);
}
ONEOP_INLINE uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = vector_math::BitsOf(value);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet = (bits >> 16) | 0x40u;
  return static_cast<uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

// The type in which elements of type T are worked with, and the way there and back for a block.
template <class T>
struct Storage {
  using Compute = T;
  static constexpr bool kConverts = false;
};

#define ONEOP_OP_STORAGE(Type, ToFloat, FromFloat)                                               \
  template <>                                                                                    \
  struct Storage<Type> {                                                                         \
    using Compute = float;                                                                       \
    static constexpr bool kConverts = true;                                                      \
    ONEOP_NOINLINE static void Load(const void* from, float* to, int64_t count) {                \
      const uint16_t* bits = static_cast<const uint16_t*>(from);                                 \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < count; ++i) { to[i] = ToFloat(bits[i]); }     \
    }                                                                                            \
    ONEOP_NOINLINE static void Store(const float* from, void* to, int64_t count) {               \
      uint16_t* bits = static_cast<uint16_t*>(to);                                               \
      _Pragma("GCC ivdep") for (int64_t i = 0; i < count; ++i) { bits[i] = FromFloat(from[i]); } \
    }                                                                                            \
  };
ONEOP_OP_STORAGE(half, HalfToFloat, FloatToHalf)
ONEOP_OP_STORAGE(bfloat16, Bfloat16ToFloat, FloatToBfloat16)
#if defined(__CUDACC__)
ONEOP_OP_STORAGE(::oneflow::float16, HalfToFloat, FloatToHalf)
ONEOP_OP_STORAGE(::nv_bfloat16, Bfloat16ToFloat, FloatToBfloat16)
#endif
#undef ONEOP_OP_STORAGE

template <class T>
using ComputeType = typename Storage<T>::Compute;

// As what elements are read. A byte of a bool tensor may be neither 0 nor 1 (uint8.view(bool) in
// torch), which no C++ bool is; a byte becomes a bool by comparing it with 0.
template <class T>
using InMemory = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#if !defined(__CUDACC__)
using oneop::half;  // a .cu file has CUDA's
#endif
using oneop::bfloat16;

#endif  // ONEOP_OP_MATH_HALF_H_
