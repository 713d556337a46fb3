// Half precision, under the name that kernel files include.
#ifndef ONEFLOW_CORE_DEVICE_CUDA_PSEUDO_HALF_H_
#define ONEFLOW_CORE_DEVICE_CUDA_PSEUDO_HALF_H_

#include "oneflow/core/common/float16.h"
#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_DEVICE_CUDA_PSEUDO_HALF_H_
