// Included by files that use cuDNN on CUDA; here it has the one number that others use too.
#ifndef ONEFLOW_CORE_DEVICE_CUDNN_UTIL_H_
#define ONEFLOW_CORE_DEVICE_CUDNN_UTIL_H_

#include "oneflow/core/device/cuda_util.h"
#include "oneop/sdk/port.h"

#if !defined(CUDNN_BN_MIN_EPSILON)
#define CUDNN_BN_MIN_EPSILON 0.0  // as cudnn.h has it
#endif

#endif  // ONEFLOW_CORE_DEVICE_CUDNN_UTIL_H_
