// Launching CUDA kernels. Empty outside nvcc.
#ifndef ONEFLOW_CORE_DEVICE_CUDA_UTIL_H_
#define ONEFLOW_CORE_DEVICE_CUDA_UTIL_H_

#include "oneflow/core/common/check.h"
#include "oneflow/core/ep/include/stream.h"

ONEOP_INTERFACE

#if defined(__CUDACC__)

#if defined(ONEOP_PORT)
#include <cuComplex.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math_constants.h>

#include "oneop/sdk/port/cub_names.h"
#endif

namespace oneflow ONEOP_HIDDEN {

constexpr int32_t kCudaThreadsNumPerBlock = 512;
constexpr int32_t kCudaMaxBlocksNum = 8192;
constexpr int32_t kCudaWarpSize = 32;
constexpr int32_t kCudaMaxSharedMemoryByteSize = 48 << 10;  // of a block, without asking for more

inline int32_t BlocksNum4ThreadsNum(const int64_t n) {
  const int64_t blocks = (n + kCudaThreadsNumPerBlock - 1) / kCudaThreadsNumPerBlock;
  return static_cast<int32_t>(blocks < 1                   ? 1
                              : blocks < kCudaMaxBlocksNum ? blocks
                                                           : kCudaMaxBlocksNum);
}
// OneFlow asks the device for its number of multiprocessors; a grid-stride loop is right with any
// grid.
inline int32_t SMBlocksNum4ThreadsNum(const int64_t n) { return BlocksNum4ThreadsNum(n); }

inline void OneopCudaCheck(cudaError_t code, const char* what, const char* file, int32_t line) {
  if (ONEOP_LIKELY(code == cudaSuccess)) {
    return;
  }
  ::oneop::sdk::Throw(Error(ONEOP_ERROR_RUNTIME, file, line)
                      << what << ": " << cudaGetErrorString(code));
}

}  // namespace oneflow ONEOP_HIDDEN

#define OF_CUDA_CHECK(...) \
  ::oneflow::OneopCudaCheck((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

#define CUDA_1D_KERNEL_LOOP(i, n)                                                              \
  for (int32_t i = blockIdx.x * blockDim.x + threadIdx.x, oneop_step = blockDim.x * gridDim.x; \
       i < (n); i += oneop_step)
#define CUDA_1D_KERNEL_LOOP_T(type, i, n)                                 \
  for (type i = static_cast<type>(blockIdx.x) * blockDim.x + threadIdx.x, \
            oneop_step = static_cast<type>(blockDim.x) * gridDim.x;       \
       i < (n); i += oneop_step)

// The second argument is a DeviceCtx* (2020) or an ep::Stream* (since). An empty tensor launches
// nothing: a grid of no blocks is an error to CUDA.
#define RUN_CUDA_KERNEL(func, stream_ptr, thread_num, ...)                                         \
  do {                                                                                             \
    if ((thread_num) > 0) {                                                                        \
      func<<<::oneflow::SMBlocksNum4ThreadsNum(thread_num), ::oneflow::kCudaThreadsNumPerBlock, 0, \
             (stream_ptr)->cuda_stream()>>>(__VA_ARGS__);                                          \
      OF_CUDA_CHECK(cudaPeekAtLastError());                                                        \
    }                                                                                              \
  } while (0)

#endif  // __CUDACC__

#endif  // ONEFLOW_CORE_DEVICE_CUDA_UTIL_H_
