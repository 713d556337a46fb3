// Included by files that use cuDNN on CUDA; for the CPU there is nothing in it.
#ifndef ONEFLOW_CORE_DEVICE_CUDNN_UTIL_H_
#define ONEFLOW_CORE_DEVICE_CUDNN_UTIL_H_

#include "oneflow/core/device/cuda_util.h"
#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_DEVICE_CUDNN_UTIL_H_
