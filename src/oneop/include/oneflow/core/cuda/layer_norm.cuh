// Layer norm of the rows of a matrix whose elements come from a functor and go to another one, see
// softmax.cuh; and means and variances of numbers that threads have apart (Welford).
#ifndef ONEFLOW_CORE_CUDA_LAYER_NORM_CUH_
#define ONEFLOW_CORE_CUDA_LAYER_NORM_CUH_

#include "oneflow/core/cuda/row_access.cuh"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {
namespace layer_norm {

using rows::DefaultComputeType;
using rows::DirectLoad;
using rows::DirectStore;
template <class T, int kSize>
using PackType = PackBytes<T, kSize>;
template <class T, int kSize>
using Pack = PackUnion<T, kSize>;

template <class T>
__device__ __forceinline__ T Div(T a, T b) {
  return a / b;
}
template <class T>
__device__ __forceinline__ T Rsqrt(T x) {
  return T(1) / sqrt(x);
}

// Mean, sum of squared differences from it, and count: with one number more, and of two parts.
template <class T>
__device__ __forceinline__ void WelfordCombine(T value, T* mean, T* m2, T* count) {
  *count += T(1);
  const T before = value - *mean;
  *mean += before / *count;
  *m2 += before * (value - *mean);
}
template <class T>
__device__ __forceinline__ void WelfordCombine(T b_mean, T b_m2, T b_count, T* mean, T* m2,
                                               T* count) {
  if (b_count == T(0)) {
    return;
  }
  const T total = *count + b_count;
  const T share = b_count / total;
  const T apart = b_mean - *mean;
  *m2 += b_m2 + apart * apart * *count * share;
  *mean += apart * share;
  *count = total;
}

// Over the first `width` threads of the warp, or of each group of so many. All of them get it.
template <class T, int width = 32>
__device__ __forceinline__ void WelfordWarpAllReduce(T thread_mean, T thread_m2, T thread_count,
                                                     T* mean, T* m2, T* count) {
  *mean = thread_mean, *m2 = thread_m2, *count = thread_count;
#pragma unroll
  for (int mask = width / 2; mask > 0; mask /= 2) {
    const T b_mean = __shfl_xor_sync(0xffffffffu, *mean, mask, width);
    const T b_m2 = __shfl_xor_sync(0xffffffffu, *m2, mask, width);
    const T b_count = __shfl_xor_sync(0xffffffffu, *count, mask, width);
    WelfordCombine(b_mean, b_m2, b_count, mean, m2, count);
  }
}
template <class T, int width = 32>
__device__ __forceinline__ void WelfordWarpReduce(T thread_mean, T thread_m2, T thread_count,
                                                  T* mean, T* m2, T* count) {
  WelfordWarpAllReduce<T, width>(thread_mean, thread_m2, thread_count, mean, m2, count);
}
// Over the block, which is a whole number of warps, of one dimension.
template <class T>
__device__ __forceinline__ void WelfordBlockAllReduce(T thread_mean, T thread_m2, T thread_count,
                                                      T* mean, T* m2, T* count) {
  __shared__ T of_warps[3][32];
  WelfordWarpAllReduce(thread_mean, thread_m2, thread_count, mean, m2, count);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
  __syncthreads();  // of_warps may be in use
  if (lane == 0) {
    of_warps[0][threadIdx.x / 32] = *mean;
    of_warps[1][threadIdx.x / 32] = *m2;
    of_warps[2][threadIdx.x / 32] = *count;
  }
  __syncthreads();
  const bool is_there = lane < warps;
  const T warp_mean = is_there ? of_warps[0][lane] : T(0);
  const T warp_m2 = is_there ? of_warps[1][lane] : T(0);
  const T warp_count = is_there ? of_warps[2][lane] : T(0);
  WelfordWarpAllReduce(warp_mean, warp_m2, warp_count, mean, m2, count);
}

template <class Load, class Store, class C>
__global__ void __launch_bounds__(rows::kBlockSize)
    Forward(Load load, Store store, double epsilon, C* means, C* inverse_deviations, int64_t count,
            int64_t cols) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    C own[3] = {C(0), C(0), C(0)}, mean, m2, number;
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      WelfordCombine(rows::LoadOne<C>(load, row, col), &own[0], &own[1], &own[2]);
    }
    WelfordBlockAllReduce(own[0], own[1], own[2], &mean, &m2, &number);
    const C variance = m2 / number > C(0) ? m2 / number : C(0);
    const C inverse = Rsqrt(variance + static_cast<C>(epsilon));
    if (threadIdx.x == 0) {
      means[row] = mean;
      inverse_deviations[row] = inverse;
    }
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      rows::StoreOne<C>(store, (rows::LoadOne<C>(load, row, col) - mean) * inverse, row, col);
    }
  }
}

template <class LoadX, class LoadDy, class Store, class C>
__global__ void __launch_bounds__(rows::kBlockSize)
    Backward(LoadX load_x, LoadDy load_dy, Store store, const C* means, const C* inverse_deviations,
             int64_t count, int64_t cols) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    const C mean = means[row], inverse = inverse_deviations[row];
    C sum = 0, sum_scaled = 0;
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      const C dy = rows::LoadOne<C>(load_dy, row, col);
      sum += dy;
      sum_scaled += dy * (rows::LoadOne<C>(load_x, row, col) - mean) * inverse;
    }
    sum = BlockAllReduce<SumOp>(sum, C(0)) / static_cast<C>(cols);
    sum_scaled = BlockAllReduce<SumOp>(sum_scaled, C(0)) / static_cast<C>(cols);
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      const C normal = (rows::LoadOne<C>(load_x, row, col) - mean) * inverse;
      const C dy = rows::LoadOne<C>(load_dy, row, col);
      rows::StoreOne<C>(store, (dy - sum - normal * sum_scaled) * inverse, row, col);
    }
  }
}

template <class Load, class Store, class C>
cudaError_t DispatchLayerNorm(cudaStream_t stream, Load load, Store store, int64_t count,
                              int64_t cols, double epsilon, C* mean, C* inv_variance) {
  return rows::Launch(Forward<Load, Store, C>, stream, count, cols, load, store, epsilon, mean,
                      inv_variance);
}
template <class LoadX, class LoadDy, class Store, class C>
cudaError_t DispatchLayerNormGrad(cudaStream_t stream, LoadX load_x, LoadDy load_scaled_dy,
                                  Store store, const C* mean, const C* inv_variance, int64_t count,
                                  int64_t cols) {
  return rows::Launch(Backward<LoadX, LoadDy, Store, C>, stream, count, cols, load_x,
                      load_scaled_dy, store, mean, inv_variance);
}

}  // namespace layer_norm
}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_CUDA_LAYER_NORM_CUH_
