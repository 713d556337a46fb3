// DeviceCtx, under the name that kernel files include.
#ifndef ONEFLOW_CORE_DEVICE_DEVICE_CONTEXT_H_
#define ONEFLOW_CORE_DEVICE_DEVICE_CONTEXT_H_

#include "oneflow/core/ep/include/stream.h"
#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_DEVICE_DEVICE_CONTEXT_H_
