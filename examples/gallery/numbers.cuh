// What the CUDA kernels of the gallery share: types of elements, packs of them as numbers, and
// kernels of one thread for each pack.
#ifndef ONEOP_GALLERY_NUMBERS_CUH_
#define ONEOP_GALLERY_NUMBERS_CUH_

#include <algorithm>

#include "oneop/op.h"

namespace gallery {

namespace device = oneop::device;

// As what elements of T lie in the GPU's memory, and in what they are computed.
template <class T>
using Stored = oneop::op::OnDevice<T>;
template <class T>
using Compute = oneop::op::ComputeType<T>;
template <class T>
constexpr bool kIsShort = sizeof(T) == 2;  // half and bfloat16

template <class T, int N>
const Stored<T>* DataOf(const oneop::View<const T, N>& view) {
  return reinterpret_cast<const Stored<T>*>(view.data());
}
template <class T, int N>
Stored<T>* DataOf(const oneop::View<T, N>& view) {
  return reinterpret_cast<Stored<T>*>(view.data());
}

inline int64_t RowsOf(int64_t numel, int64_t length) { return length == 0 ? 0 : numel / length; }

constexpr float kLog2OfE = 1.4426950408889634f;

// exp for results of half and bfloat16: its error, 2^-22 or so near 0, is far below theirs.
// Otherwise CUDA's own, to the last bits.
template <bool kIsRough>
__device__ __forceinline__ float Exp(float x) {
  if constexpr (kIsRough) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x * kLog2OfE));
    return result;
  } else {
    return expf(x);
  }
}
template <bool kIsRough>
__device__ __forceinline__ double Exp(double x) {
  return exp(x);
}
// exp(x - base), with base * kLog2OfE worked out before: one instruction less.
__device__ __forceinline__ float RoughExp(float x, float scaled_base) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(fmaf(x, kLog2OfE, -scaled_base)));
  return result;
}
// The larger one; a NaN wins.
__device__ __forceinline__ float Largest(float a, float b) {
#if __CUDA_ARCH__ >= 800
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
  return result;
#else
  return a >= b || a != a ? a : b;
#endif
}
__device__ __forceinline__ double Largest(double a, double b) { return a >= b || a != a ? a : b; }
template <bool kIsRough, class C>
__device__ __forceinline__ C Sigmoid(C x) {
  if constexpr (kIsRough) {
    return __fdividef(1.0f, 1.0f + Exp<true>(-x));
  } else {
    return C(1) / (C(1) + Exp<false>(-x));
  }
}

// kSize elements in memory as numbers.
template <int kSize, class C, class T>
__device__ __forceinline__ device::Values<C, kSize> Load(const T* from) {
  const auto pack = device::ReadConstant<device::Values<T, kSize>>(from);
  device::Values<C, kSize> values;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    values.at[i] = static_cast<C>(pack.at[i]);
  }
  return values;
}
// The same of memory that the kernel writes to.
template <int kSize, class C, class T>
__device__ __forceinline__ device::Values<C, kSize> LoadChanged(const T* from) {
  const auto pack = ::oneflow::cuda::LoadPack<kSize>(from);
  device::Values<C, kSize> values;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    values.at[i] = static_cast<C>(pack.values[i]);
  }
  return values;
}
template <int kSize, class C, class T>
__device__ __forceinline__ void Store(T* to, const device::Values<C, kSize>& values) {
  ::oneflow::cuda::Pack<T, kSize> pack;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    pack.values[i] = static_cast<T>(values.at[i]);
  }
  ::oneflow::cuda::StorePack<kSize>(to, pack);
}

// Elements of T in 16 bytes.
template <class T>
constexpr int kPack = 16 / static_cast<int>(sizeof(T));

// Whether packs of kBytes may be read at these addresses, and `step` bytes further on.
template <int kBytes, class... P>
bool ArePacked(int64_t step, const P*... pointers) {
  return step % kBytes == 0 &&
         ((reinterpret_cast<uintptr_t>(pointers) % static_cast<unsigned>(kBytes) == 0) && ...);
}

// i / n and i % n. A division of 64 bits takes several times as long as one of 32.
struct Divided {
  // The row and the column of pack i, where rows have n elements.
  template <int kSize>
  __device__ __forceinline__ static Divided OfPack(int64_t i, int64_t n) {
    Divided place(i, n / kSize);
    place.rest *= kSize;
    return place;
  }
  int64_t quotient, rest;
  __device__ __forceinline__ Divided(int64_t i, int64_t n) {
    if (((i | n) >> 32) == 0) {
      quotient = static_cast<uint32_t>(i) / static_cast<uint32_t>(n);
    } else {
      quotient = i / n;
    }
    rest = i - quotient * n;
  }
};

// functor(i) for 0 <= i < count, each by a thread of its own.
constexpr int kThreads = 128;
template <class F>
__global__ void __launch_bounds__(kThreads) RunEach(const F functor, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += step) {
    functor(i);
  }
}
template <class F>
void ForEach(const F& functor, int64_t count, cudaStream_t stream) {
  if (count > 0) {  // a grid of no blocks is an error to CUDA
    RunEach<<<device::GridFor(count, kThreads), kThreads, 0, stream>>>(functor, count);
    device::CheckLaunch();
  }
}

}  // namespace gallery

#endif  // ONEOP_GALLERY_NUMBERS_CUH_
