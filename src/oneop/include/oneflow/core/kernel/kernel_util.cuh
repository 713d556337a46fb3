// Logarithms that never see zero.
#ifndef ONEFLOW_CORE_KERNEL_KERNEL_UTIL_CUH_
#define ONEFLOW_CORE_KERNEL_KERNEL_UTIL_CUH_

#include <cmath>
#include <type_traits>

#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

template <class T>
OF_DEVICE_FUNC T MaxWithLogThreshold(T x) {
  const T least = static_cast<T>(1e-20);
  return x > least ? x : least;
}
template <class T>
OF_DEVICE_FUNC T SafeLog(T x) {
  using Wide =
      std::conditional_t<std::is_same<T, double>::value, double, float>;  // half has no log
  return static_cast<T>(log(static_cast<Wide>(MaxWithLogThreshold(x))));
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_KERNEL_KERNEL_UTIL_CUH_
