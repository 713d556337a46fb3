// Half precision on the device: its constants, and conversions between float16 and CUDA's half.
#ifndef ONEFLOW_CORE_KERNEL_UTIL_CUDA_HALF_UTIL_H_
#define ONEFLOW_CORE_KERNEL_UTIL_CUDA_HALF_UTIL_H_

#include "oneflow/core/device/cuda_util.h"
#include "oneop/sdk/port.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>

#include <cstring>

#define HALF_CHECK_FAILED __trap()  // no device that is served here lacks half precision

namespace oneflow ONEOP_HIDDEN {

__device__ __forceinline__ half hone() { return __ushort_as_half(0x3c00); }
__device__ __forceinline__ half hzero() { return __ushort_as_half(0); }
inline half float16_2half(float16 x) {
  half y;
  std::memcpy(&y, &x, sizeof(y));
  return y;
}
inline float16 half2float16(half x) {
  float16 y;
  std::memcpy(&y, &x, sizeof(y));
  return y;
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // __CUDACC__

#endif  // ONEFLOW_CORE_KERNEL_UTIL_CUDA_HALF_UTIL_H_
