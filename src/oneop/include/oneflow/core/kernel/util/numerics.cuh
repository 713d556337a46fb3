// Limits and questions about numbers, for host and device.
#ifndef ONEFLOW_CORE_KERNEL_UTIL_NUMERICS_CUH_
#define ONEFLOW_CORE_KERNEL_UTIL_NUMERICS_CUH_

#include "oneop/sdk/cpu/limits.h"
#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {
namespace detail {

// The bounds are infinite where the type has infinities.
template <class T>
struct numeric_limits {
  static OF_DEVICE_FUNC T lowest() { return GetMinVal<T>(); }
  static OF_DEVICE_FUNC T max() { return GetMaxVal<T>(); }
  static OF_DEVICE_FUNC T lower_bound() { return ::oneop::sdk::LowerBound<T>(); }
  static OF_DEVICE_FUNC T upper_bound() { return ::oneop::sdk::UpperBound<T>(); }
};
template <class T>
struct numerics {
  static OF_DEVICE_FUNC T min() { return numeric_limits<T>::lowest(); }
  static OF_DEVICE_FUNC T max() { return numeric_limits<T>::max(); }
  static OF_DEVICE_FUNC T lower_bound() { return numeric_limits<T>::lower_bound(); }
  static OF_DEVICE_FUNC T upper_bound() { return numeric_limits<T>::upper_bound(); }
  static OF_DEVICE_FUNC bool isnan(T value) { return value != value; }
  static OF_DEVICE_FUNC bool isinf(T value) {
    return IsFloating<T>::value && (value == upper_bound() || value == lower_bound());
  }
};

}  // namespace detail
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_KERNEL_UTIL_NUMERICS_CUH_
