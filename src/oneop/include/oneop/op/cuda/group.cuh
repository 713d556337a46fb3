// The threads that work on one row together: a warp, or a block. Reductions over them have a fixed
// order, so that their results have the same bits in every run.
#ifndef ONEOP_OP_CUDA_GROUP_CUH_
#define ONEOP_OP_CUDA_GROUP_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "oneop/op/math/number.h"

namespace oneop ONEOP_HIDDEN {
namespace device {

constexpr int kWarp = 32;

// A value of any trivial type from the thread whose number differs by `mask`, word by word.
template <class T>
__device__ __forceinline__ T ShuffleXor(const T& value, int mask) {
  static_assert(sizeof(T) % 4 == 0, "expected a type of whole words");
  union Words {
    T value;
    uint32_t words[sizeof(T) / 4];
    __device__ Words() {}
  } words;
  words.value = value;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T) / 4); ++i) {
    words.words[i] = __shfl_xor_sync(0xffffffffu, words.words[i], mask);
  }
  return words.value;
}

// Blocks have one dimension and a whole number of warps. All threads of a group come to AllReduce,
// and all get the result; join(start, a) is a.
struct WarpGroup {
  static constexpr bool kIsBlock = false;
  __device__ __forceinline__ static int rank() { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ __forceinline__ static int size() { return kWarp; }
  // The number of this group among those of the grid, and how many these are.
  __device__ __forceinline__ static int64_t number() {
    return static_cast<int64_t>(blockIdx.x) * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  }
  __device__ __forceinline__ static int64_t count() {
    return static_cast<int64_t>(gridDim.x) * (blockDim.x / kWarp);
  }
  template <class T, class Join>
  __device__ __forceinline__ static T AllReduce(T value, T, const Join& join) {
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) {
      value = join(value, ShuffleXor(value, mask));
    }
    return value;
  }
};

struct BlockGroup {
  static constexpr bool kIsBlock = true;
  __device__ __forceinline__ static int rank() { return static_cast<int>(threadIdx.x); }
  __device__ __forceinline__ static int size() { return static_cast<int>(blockDim.x); }
  __device__ __forceinline__ static int64_t number() { return blockIdx.x; }
  __device__ __forceinline__ static int64_t count() { return gridDim.x; }
  template <class T, class Join>
  __device__ __forceinline__ static T AllReduce(T value, T start, const Join& join) {
    __shared__ alignas(T) unsigned char room[kWarp * sizeof(T)];
    T* const of_warps = reinterpret_cast<T*>(room);
    value = WarpGroup::AllReduce(value, start, join);
    const int warps = static_cast<int>(blockDim.x) / kWarp;
    if (warps == 1) {
      return value;
    }
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (lane == 0) {
      of_warps[threadIdx.x / kWarp] = value;
    }
    __syncthreads();
    value = WarpGroup::AllReduce(lane < warps ? of_warps[lane] : start, start, join);
    __syncthreads();  // the room may be used again
    return value;
  }
};

}  // namespace device
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_CUDA_GROUP_CUH_
