// Kinds of devices.
#ifndef ONEFLOW_CORE_COMMON_DEVICE_TYPE_H_
#define ONEFLOW_CORE_COMMON_DEVICE_TYPE_H_

#include <string>

#include "oneop/sdk/config.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

// The numbers are those of the ABI. kGPU is what 2020 called kCUDA.
enum DeviceType : int32_t {
  kInvalidDevice = ONEOP_DEVICE_INVALID,
  kCPU = ONEOP_DEVICE_CPU,
  kCUDA = ONEOP_DEVICE_CUDA,
  kGPU = ONEOP_DEVICE_CUDA,
  kMockDevice = 3,
  kMeta = ONEOP_DEVICE_META,
  kMLU = 5,
  kNPU = 6,
  kXPU = 7,
};

inline const char* OneopEnumName(DeviceType type) {
  static constexpr const char* kNames[] = {"kInvalidDevice", "kCPU", "kCUDA", "kMockDevice",
                                           "kMeta",          "kMLU", "kNPU",  "kXPU"};
  const int32_t code = type;
  return code >= 0 && code <= kXPU ? kNames[code] : "an unknown device";
}
inline std::string DeviceType_Name(DeviceType type) { return OneopEnumName(type); }

// The tags of the placements of 2020.
inline const char* DeviceTag4DeviceType(DeviceType type) {
  switch (type) {
    case kCPU:
      return "cpu";
    case kCUDA:
      return "gpu";
    case kMeta:
      return "meta";
    default:
      return "other";
  }
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_DEVICE_TYPE_H_
