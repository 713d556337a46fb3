// Ep::CudaStream, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_CUDA_CUDA_STREAM_H_
#define ONEFLOW_CORE_EP_CUDA_CUDA_STREAM_H_

#include "oneflow/core/device/cuda_util.h"

#endif  // ONEFLOW_CORE_EP_CUDA_CUDA_STREAM_H_
