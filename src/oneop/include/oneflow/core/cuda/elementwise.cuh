// Elementwise functions at the speed of the memory: r[i] = functor(a[i], ...).
//
//   OF_CUDA_CHECK(cuda::elementwise::Unary(Relu<float>(), n, y, x, stream));
//
// Packs of 16 bytes are read and written where all addresses allow it; n may be anything, 0 too.
#ifndef ONEFLOW_CORE_CUDA_ELEMENTWISE_CUH_
#define ONEFLOW_CORE_CUDA_ELEMENTWISE_CUH_

#include "oneflow/core/cuda/pack.cuh"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {
namespace elementwise {

constexpr int kBlockSize =
    128;  // each thread works on one pack: more of them were slower on an H200

template <class T, int kSize>
using PackType = PackBytes<T, kSize>;
template <class T, int kSize>
using Pack = PackUnion<T, kSize>;
template <class T, int kSize>
struct alignas(sizeof(T) * kSize) Packed {
  __host__ __device__ Packed() {}
  union {
    T elem[kSize];
  };
};
// How many elements of these types go into one pack, at most 8.
template <class... T>
constexpr int PackSize() {
  return kPackSize<T...> < 8 ? kPackSize<T...> : 8;
}
template <int kSize, class... T>
bool IsAlignedForPack(const T*... pointers) {
  return (IsAligned<kSize>(pointers) && ...);
}
// A grid of blocks of kBlockSize threads for a loop over n elements; a grid that is smaller than
// that is right too, because the loop has the grid as its step.
inline cudaError_t GetNumBlocks(int64_t n, int* num_blocks) {
  constexpr int64_t kMost = 1 << 16;
  const int64_t blocks = (n + kBlockSize - 1) / kBlockSize;
  *num_blocks = static_cast<int>(blocks < 1 ? 1 : blocks < kMost ? blocks : kMost);
  return cudaSuccess;
}

// A functor that needs no preparation on the device.
template <class F>
struct SimpleFactory {
  explicit SimpleFactory(F functor) : functor(functor) {}
  F functor;
  __device__ F operator()() const { return functor; }
};

template <int kSize, class F, class R, class... A>
__device__ __forceinline__ cuda::Pack<R, kSize> ApplyPack(const F& functor,
                                                          const cuda::Pack<A, kSize>&... a) {
  cuda::Pack<R, kSize> result;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    result.values[i] = static_cast<R>(functor(a.values[i]...));
  }
  return result;
}

template <int kSize, class Factory, class R, class... A>
__global__ void __launch_bounds__(kBlockSize)
    ApplyAll(Factory factory, int64_t num_packs, int64_t n, R* r, const A*... a) {
  const auto functor = factory();
  using F = decltype(factory());
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kBlockSize + threadIdx.x;
  if (i < num_packs) {
    StorePack<kSize>(r + i * kSize,
                     ApplyPack<kSize, F, R, A...>(functor, LoadPack<kSize>(a + i * kSize)...));
  }
  if (blockIdx.x == 0) {  // what does not fill a pack: less than one for each thread
    const int64_t last = num_packs * kSize + threadIdx.x;
    if (last < n) {
      r[last] = static_cast<R>(functor(a[last]...));
    }
  }
}

template <int kSize, class Factory, class R, class... A>
cudaError_t Launch(const Factory& factory, int64_t n, R* r, const A*... a, cudaStream_t stream) {
  const int64_t num_packs = n / kSize;
  const int64_t blocks = (num_packs + kBlockSize - 1) / kBlockSize;
  ApplyAll<kSize, Factory, R, A...>
      <<<static_cast<unsigned>(blocks > 0 ? blocks : 1), kBlockSize, 0, stream>>>(
          factory, num_packs, n, r, a...);
  return cudaPeekAtLastError();
}

template <class Factory, class R, class... A>
struct Apply {
  static cudaError_t Run(const Factory& factory, int64_t n, R* r, const A*... a,
                         cudaStream_t stream) {
    if (n <= 0) {
      return cudaSuccess;  // a grid of no blocks is an error to CUDA
    }
    constexpr int kSize = kPackSize<R, A...>;
    if (IsAligned<kSize>(r) && (IsAligned<kSize>(a) && ...)) {
      return Launch<kSize, Factory, R, A...>(factory, n, r, a..., stream);
    }
    return Launch<1, Factory, R, A...>(factory, n, r, a..., stream);
  }
};

template <class Factory, class R, class... A>
struct GenericLauncher {
  static cudaError_t Launch(Factory factory, int64_t n, R* r, const A*... a, cudaStream_t stream) {
    return Apply<Factory, R, A...>::Run(factory, n, r, a..., stream);
  }
};

// A factory is called once by each thread and returns the functor: for what must be read or worked
// out on the device.
template <class Factory, class R, class A>
cudaError_t UnaryWithFactory(Factory factory, int64_t n, R* r, const A* a, cudaStream_t stream) {
  return Apply<Factory, R, A>::Run(factory, n, r, a, stream);
}
template <class F, class R, class A>
cudaError_t Unary(F functor, int64_t n, R* r, const A* a, cudaStream_t stream) {
  return UnaryWithFactory(SimpleFactory<F>{functor}, n, r, a, stream);
}

template <class Factory, class R, class A, class B>
cudaError_t BinaryWithFactory(Factory factory, int64_t n, R* r, const A* a, const B* b,
                              cudaStream_t stream) {
  return Apply<Factory, R, A, B>::Run(factory, n, r, a, b, stream);
}
template <class F, class R, class A, class B>
cudaError_t Binary(F functor, int64_t n, R* r, const A* a, const B* b, cudaStream_t stream) {
  return BinaryWithFactory(SimpleFactory<F>{functor}, n, r, a, b, stream);
}

template <class Factory, class R, class A, class B, class C>
cudaError_t TernaryWithFactory(Factory factory, int64_t n, R* r, const A* a, const B* b, const C* c,
                               cudaStream_t stream) {
  return Apply<Factory, R, A, B, C>::Run(factory, n, r, a, b, c, stream);
}
template <class F, class R, class A, class B, class C>
cudaError_t Ternary(F functor, int64_t n, R* r, const A* a, const B* b, const C* c,
                    cudaStream_t stream) {
  return TernaryWithFactory(SimpleFactory<F>{functor}, n, r, a, b, c, stream);
}

}  // namespace elementwise
}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_CUDA_ELEMENTWISE_CUH_
