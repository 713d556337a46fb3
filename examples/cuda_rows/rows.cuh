// A row of a matrix in the registers of one block: read once, used often.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "oneflow/core/cuda/pack.cuh"
#include "oneflow/core/cuda/reduce.cuh"
#include "oneflow/core/device/cuda_util.h"

namespace rows {

namespace cuda = oneflow::cuda;

// Thread t holds the packs t, t + threads, t + 2 * threads, ... of its row: up to kPacks of them.
template <typename T, int kSize, int kPacks>
struct Row {
  float values[kPacks][kSize];

  // What lies beyond the end of the row is `filler`.
  __device__ void Load(const T* row, int num_packs, float filler) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int at = threadIdx.x + p * blockDim.x;
      if (at < num_packs) {
        const auto pack = cuda::LoadPack<kSize>(row + at * kSize);
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          values[p][i] = static_cast<float>(pack.values[i]);
        }
      } else {
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          values[p][i] = filler;
        }
      }
    }
  }

  __device__ void Store(T* row, int num_packs) const {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int at = threadIdx.x + p * blockDim.x;
      if (at < num_packs) {
        cuda::Pack<T, kSize> pack;
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          pack.values[i] = static_cast<T>(values[p][i]);
        }
        cuda::StorePack<kSize>(row + at * kSize, pack);
      }
    }
  }

  // f(value) for each of them.
  template <typename F>
  __device__ void ForEach(const F& f) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        f(values[p][i]);
      }
    }
  }
};

__device__ __forceinline__ float SumOfBlock(float value) {
  return cuda::BlockAllReduce<cuda::SumOp>(value, 0.0f);
}
__device__ __forceinline__ float MaxOfBlock(float value) {
  return cuda::BlockAllReduce<cuda::MaxOp>(value, -INFINITY);
}

// Calls f(pack size, packs for each thread, most threads of a block, threads), the first three as
// constants, for rows of this length. A row of more than kLongest elements (a part of that where
// the rows do not start at whole packs) does not fit.
template <typename T>
constexpr int64_t kLongest = int64_t{1024} * 4 * cuda::kPackSize<T>;

template <int kValue>
using Constant = std::integral_constant<int, kValue>;

template <int kSize, typename F>
void ForPacks(int64_t num_packs, const F& f) {
  const auto threads = [&](int packs) {
    const int64_t needed = (num_packs + packs - 1) / packs;
    return static_cast<int>((needed + 31) / 32 * 32);
  };
  if (num_packs <= 128) {
    f(Constant<kSize>(), Constant<1>(), Constant<128>(), threads(1));
  } else if (num_packs <= 2 * 128) {
    f(Constant<kSize>(), Constant<2>(), Constant<128>(), threads(2));
  } else if (num_packs <= 2 * 256) {
    f(Constant<kSize>(), Constant<2>(), Constant<256>(), threads(2));
  } else if (num_packs <= 2 * 512) {
    f(Constant<kSize>(), Constant<2>(), Constant<512>(), threads(2));
  } else if (num_packs <= 2 * 1024) {
    f(Constant<kSize>(), Constant<2>(), Constant<1024>(), threads(2));
  } else {
    f(Constant<kSize>(), Constant<4>(), Constant<1024>(), threads(4));
  }
}

template <typename T, typename F>
void ForRowLength(int64_t cols, bool is_aligned, const F& f) {
  constexpr int kSize = cuda::kPackSize<T>;
  const bool packs = is_aligned && cols % kSize == 0;
  const int64_t longest = packs ? kLongest<T> : kLongest<T> / kSize;
  if (cols > longest) {
    oneop::sdk::Throw(oneflow::Error(ONEOP_ERROR_VALUE, nullptr, 0)
                      << "rows of " << cols << " elements are too long, these kernels take "
                      << longest);
  }
  if (packs) {
    ForPacks<kSize>(cols / kSize, f);
  } else {
    ForPacks<1>(cols, f);
  }
}

inline bool IsAligned(std::initializer_list<const void*> pointers) {
  return std::all_of(pointers.begin(), pointers.end(), [](const void* pointer) {
    return reinterpret_cast<uintptr_t>(pointer) % cuda::kMaxPackBytes == 0;
  });
}

}  // namespace rows
