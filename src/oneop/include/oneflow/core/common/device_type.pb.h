// DeviceType, under the name that kernel files include.
#ifndef ONEFLOW_CORE_COMMON_DEVICE_TYPE_PB_H_
#define ONEFLOW_CORE_COMMON_DEVICE_TYPE_PB_H_

#include "oneflow/core/common/device_type.h"

#endif  // ONEFLOW_CORE_COMMON_DEVICE_TYPE_PB_H_
