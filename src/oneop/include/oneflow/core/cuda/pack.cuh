// Packs: several elements that are read or written by one instruction.
#ifndef ONEFLOW_CORE_CUDA_PACK_CUH_
#define ONEFLOW_CORE_CUDA_PACK_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {

constexpr int kMaxPackBytes = 16;  // the widest access there is

template <class T, int kSize>
struct alignas(sizeof(T) * kSize) Pack {
  T values[kSize];
};

// The same bytes without a type, and both: what is loaded is `storage`, what is computed with
// `elem`.
template <int kBytes>
struct alignas(kBytes) Bytes {
  unsigned char bytes[kBytes];
};
template <class T, int kSize>
using PackBytes = Bytes<static_cast<int>(sizeof(T)) * kSize>;
template <class T, int kSize>
union PackUnion {
  static_assert(sizeof(PackBytes<T, kSize>) == sizeof(T) * kSize, "no bytes between packs");
  __host__ __device__ PackUnion() {}
  PackBytes<T, kSize> storage;
  T elem[kSize];
};

constexpr int MaxOf(int value) { return value; }
template <class... Rest>
constexpr int MaxOf(int value, Rest... rest) {
  return value > MaxOf(rest...) ? value : MaxOf(rest...);
}

// How many elements of these types go into one pack: the largest type fills it. Types larger than a
// pack go one by one.
template <class... T>
constexpr int kPackSize =
    kMaxPackBytes / MaxOf(int{sizeof(T)}...) > 0 ? kMaxPackBytes / MaxOf(int{sizeof(T)}...) : 1;

// Whether a pack may be read at this address.
template <int kSize, class T>
bool IsAligned(const T* pointer) {
  return reinterpret_cast<uintptr_t>(pointer) % (sizeof(T) * kSize) == 0;
}

template <int kSize, class T>
__device__ __forceinline__ Pack<T, kSize> LoadPack(const T* pointer) {
  return *reinterpret_cast<const Pack<T, kSize>*>(pointer);
}
template <int kSize, class T>
__device__ __forceinline__ void StorePack(T* pointer, const Pack<T, kSize>& pack) {
  *reinterpret_cast<Pack<T, kSize>*>(pointer) = pack;
}

}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_CUDA_PACK_CUH_
