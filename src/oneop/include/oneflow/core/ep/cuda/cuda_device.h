// Included by sources that ask a device for its properties: a CudaStream answers.
#ifndef ONEFLOW_CORE_EP_CUDA_CUDA_DEVICE_H_
#define ONEFLOW_CORE_EP_CUDA_CUDA_DEVICE_H_

#include "oneflow/core/ep/cuda/cuda_stream.h"

#endif  // ONEFLOW_CORE_EP_CUDA_CUDA_DEVICE_H_
