// bfloat16, under the name that kernel files include.
#ifndef ONEFLOW_CORE_DEVICE_CUDA_PSEUDO_BFLOAT16_H_
#define ONEFLOW_CORE_DEVICE_CUDA_PSEUDO_BFLOAT16_H_

#include "oneflow/core/common/bfloat16.h"
#include "oneflow/core/device/cuda_util.h"

#endif  // ONEFLOW_CORE_DEVICE_CUDA_PSEUDO_BFLOAT16_H_
