// Reductions within a warp and within a block. Every thread gets the result.
#ifndef ONEFLOW_CORE_CUDA_REDUCE_CUH_
#define ONEFLOW_CORE_CUDA_REDUCE_CUH_

#include <cuda_runtime.h>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {

template <class T>
struct SumOp {
  __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a + b; }
};
template <class T>
struct MaxOp {  // what is no number wins
  __device__ __forceinline__ T operator()(const T& a, const T& b) const {
    return a < b || b != b ? b : a;
  }
};
template <class T>
struct MinOp {
  __device__ __forceinline__ T operator()(const T& a, const T& b) const {
    return b < a || b != b ? b : a;
  }
};

// All 32 threads of the warp must come here. The order of the operations is fixed.
template <template <class> class Op, class T>
__device__ __forceinline__ T WarpAllReduce(T value) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    value = Op<T>()(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

// All threads of the block must come here; the block is a whole number of warps, of one dimension.
// `neutral` is what the operation ignores: 0 for a sum, the lowest number for a maximum.
template <template <class> class Op, class T>
__device__ __forceinline__ T BlockAllReduce(T value, T neutral) {
  __shared__ T of_warps[32];
  value = WarpAllReduce<Op>(value);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) {
    return value;
  }
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (lane == 0) {
    of_warps[threadIdx.x / 32] = value;
  }
  __syncthreads();
  value = WarpAllReduce<Op>(lane < warps ? of_warps[lane] : neutral);
  __syncthreads();  // of_warps may be used again
  return value;
}

}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_CUDA_REDUCE_CUH_
