// What softmax.cuh and layer_norm.cuh share: functors that load and store elements of a matrix by
// row and column, in packs of N, and the launch of a kernel with a block for each row.
#ifndef ONEFLOW_CORE_CUDA_ROW_ACCESS_CUH_
#define ONEFLOW_CORE_CUDA_ROW_ACCESS_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "oneflow/core/cuda/pack.cuh"
#include "oneflow/core/cuda/reduce.cuh"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {
namespace rows {

constexpr int kBlockSize = 256;
constexpr int64_t kMaxBlocks = 1 << 20;

template <class T>
struct DefaultComputeType {
  using type = T;
};
template <>
struct DefaultComputeType<half> {
  using type = float;
};
template <>
struct DefaultComputeType<nv_bfloat16> {
  using type = float;
};

template <class From, class To>
struct DirectLoad {
  DirectLoad(const From* src, int64_t row_size) : src(src), row_size(row_size) {}
  template <int N>
  __device__ void load(To* dst, int64_t row, int64_t col) const {
    const auto pack = LoadPack<N>(src + row * row_size + col);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      dst[i] = static_cast<To>(pack.values[i]);
    }
  }
  const From* src;
  int64_t row_size;
};

// The same in 2021.
template <class From>
struct DirectFetch {
  DirectFetch(const From* src, int64_t row_size) : src(src), row_size(row_size) {}
  template <class To, int N>
  __device__ void fetch(To* dst, int64_t row, int64_t col) const {
    DirectLoad<From, To>(src, row_size).template load<N>(dst, row, col);
  }
  const From* src;
  int64_t row_size;
};

template <class... T>
struct DirectStore;
template <class From, class To>
struct DirectStore<From, To> {
  DirectStore(To* dst, int64_t row_size) : dst(dst), row_size(row_size) {}
  template <int N>
  __device__ void store(const From* src, int64_t row, int64_t col) {
    cuda::Pack<To, N> pack;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      pack.values[i] = static_cast<To>(src[i]);
    }
    StorePack<N>(dst + row * row_size + col, pack);
  }
  To* dst;
  int64_t row_size;
};
template <class To>  // of 2021
struct DirectStore<To> {
  DirectStore(To* dst, int64_t row_size) : dst(dst), row_size(row_size) {}
  template <class From, int N>
  __device__ void store(const From* src, int64_t row, int64_t col) {
    DirectStore<From, To>(dst, row_size).template store<N>(src, row, col);
  }
  To* dst;
  int64_t row_size;
};

template <class F, class C, class = void>
struct Fetches : std::false_type {};
template <class F, class C>
struct Fetches<F, C,
               std::void_t<decltype(std::declval<F&>().template fetch<C, 1>(
                   static_cast<C*>(nullptr), int64_t{}, int64_t{}))>> : std::true_type {};
template <class F, class C, class = void>
struct StoresAny : std::false_type {};
template <class F, class C>
struct StoresAny<F, C,
                 std::void_t<decltype(std::declval<F&>().template store<C, 1>(
                     static_cast<const C*>(nullptr), int64_t{}, int64_t{}))>> : std::true_type {};

template <class C, class F>
__device__ __forceinline__ C LoadOne(F& load, int64_t row, int64_t col) {
  C value;
  if constexpr (Fetches<F, C>::value) {
    load.template fetch<C, 1>(&value, row, col);
  } else {
    load.template load<1>(&value, row, col);
  }
  return value;
}
template <class C, class F>
__device__ __forceinline__ void StoreOne(F& store, C value, int64_t row, int64_t col) {
  if constexpr (StoresAny<F, C>::value) {
    store.template store<C, 1>(&value, row, col);
  } else {
    store.template store<1>(&value, row, col);
  }
}

// kernel(accesses..., count, cols), with a block for each row. A matrix without rows launches none.
template <class... P, class... A>
cudaError_t Launch(void (*kernel)(P...), cudaStream_t stream, int64_t count, int64_t cols,
                   const A&... accesses) {
  if (count <= 0) {
    return cudaSuccess;
  }
  const auto blocks = static_cast<unsigned>(count < kMaxBlocks ? count : kMaxBlocks);
  kernel<<<blocks, kBlockSize, 0, stream>>>(accesses..., count, cols);
  return cudaPeekAtLastError();
}

}  // namespace rows
}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_CUDA_ROW_ACCESS_CUH_
