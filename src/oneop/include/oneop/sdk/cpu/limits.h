// The least and the largest value of a type; half precision too.
#ifndef ONEOP_SDK_CPU_LIMITS_H_
#define ONEOP_SDK_CPU_LIMITS_H_

#include <limits>

#include "oneflow/core/common/data_type.h"

namespace oneflow ONEOP_HIDDEN {

// By what the type is; half precision counts as floating. The type is asked for its DataType, as
// float16 has two spellings where nvcc compiles: ours, and CUDA's `half`, of which
// std::numeric_limits knows nothing (it says 0).
template <class T, DataType code, class = void>
struct OneopIs : std::false_type {};
template <class T, DataType code>
struct OneopIs<T, code, std::void_t<decltype(GetDataType<T>::value)>>
    : std::bool_constant<GetDataType<T>::value == code> {};
template <class T>
struct IsFloat16 : std::bool_constant<OneopIs<T, kFloat16>::value || OneopIs<T, kBFloat16>::value> {
};
template <class T>
struct IsFloating : std::bool_constant<std::is_floating_point_v<T> || IsFloat16<T>::value> {};
template <class T>
struct IsIntegral : std::is_integral<T> {};
template <class T>
struct IsUnsignedIntegral : std::bool_constant<std::is_integral_v<T> && std::is_unsigned_v<T>> {};

// The least is the most negative finite number.
template <class T>
OF_DEVICE_FUNC T GetMinVal() {
  if constexpr (OneopIs<T, kFloat16>::value) {
    return static_cast<T>(-65504.0f);
  } else if constexpr (OneopIs<T, kBFloat16>::value) {
    return static_cast<T>(::oneop::sdk::FloatOf(0xff7f0000u));
  } else {
    static_assert(std::numeric_limits<T>::is_specialized, "a type of numbers");
    return std::numeric_limits<T>::lowest();
  }
}
template <class T>
OF_DEVICE_FUNC T GetMaxVal() {
  if constexpr (OneopIs<T, kFloat16>::value) {
    return static_cast<T>(65504.0f);
  } else if constexpr (OneopIs<T, kBFloat16>::value) {
    return static_cast<T>(::oneop::sdk::FloatOf(0x7f7f0000u));
  } else {
    static_assert(std::numeric_limits<T>::is_specialized, "a type of numbers");
    return std::numeric_limits<T>::max();
  }
}
template <class T>
OF_DEVICE_FUNC T MaxVal() {
  return GetMaxVal<T>();
}
template <class T>
OF_DEVICE_FUNC T MinVal() {
  return GetMinVal<T>();
}

}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// What no number is below or above: infinite where the type has infinities.
template <class T>
OF_DEVICE_FUNC T LowerBound() {
  if constexpr (oneflow::IsFloating<T>::value) {
    return static_cast<T>(FloatOf(0xff800000u));
  } else {
    return oneflow::GetMinVal<T>();
  }
}
template <class T>
OF_DEVICE_FUNC T UpperBound() {
  if constexpr (oneflow::IsFloating<T>::value) {
    return static_cast<T>(FloatOf(0x7f800000u));
  } else {
    return oneflow::GetMaxVal<T>();
  }
}

// The type in which sums of T are kept.
template <class T>
struct AccumulatorOf {
  using type = std::conditional_t<oneflow::IsFloat16<T>::value, float, T>;
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_LIMITS_H_
