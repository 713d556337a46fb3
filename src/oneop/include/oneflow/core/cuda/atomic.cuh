// Atomic operations on types that CUDA itself has none for.
#ifndef ONEFLOW_CORE_CUDA_ATOMIC_CUH_
#define ONEFLOW_CORE_CUDA_ATOMIC_CUH_

#if defined(__CUDACC__)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {
namespace atomic {

// The integer with as many bytes, on which the hardware compares and exchanges.
template <int kBytes>
struct WordOf;
template <>
struct WordOf<2> {
  using type = unsigned short;  // NOLINT: the type that atomicCAS takes
};
template <>
struct WordOf<4> {
  using type = unsigned int;
};
template <>
struct WordOf<8> {
  using type = unsigned long long;  // NOLINT
};

template <class To, class From>
__device__ __forceinline__ To Bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From), "as many bytes");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}
template <class T, class U>
__device__ __forceinline__ T As(U value) {
  if constexpr (std::is_same<T, U>::value) {
    return value;
  } else {
    return static_cast<T>(value);
  }
}

// *address = value if it was `compare`; returns what it was.
template <class T, class U, class V>
__device__ __forceinline__ T CAS(T* address, U compare, V value) {
  using Word = typename WordOf<sizeof(T)>::type;
  return Bits<T>(atomicCAS(reinterpret_cast<Word*>(address), Bits<Word>(As<T>(compare)),
                           Bits<Word>(As<T>(value))));
}

// *address = op(*address); returns what it was. Bits are compared: a NaN is equal to itself.
template <class T, class F>
__device__ __forceinline__ T Update(T* address, const F& op) {
  if constexpr (sizeof(T) == 1) {  // the hardware exchanges two bytes or more
    auto* pair =
        reinterpret_cast<unsigned int*>(reinterpret_cast<uintptr_t>(address) & ~uintptr_t{3});
    const unsigned int shift =
        static_cast<unsigned int>(reinterpret_cast<uintptr_t>(address) & 3) * 8;
    unsigned int old = *pair, assumed;
    T before;
    do {
      assumed = old;
      before = Bits<T>(static_cast<unsigned char>(assumed >> shift));
      const unsigned int byte = Bits<unsigned char>(op(before));
      old = atomicCAS(pair, assumed, (assumed & ~(0xffu << shift)) | (byte << shift));
    } while (old != assumed);
    return before;
  } else {
    using Word = typename WordOf<sizeof(T)>::type;
    auto* word = reinterpret_cast<Word*>(address);
    Word old = *word, assumed;
    do {
      assumed = old;
      old = atomicCAS(word, assumed, Bits<Word>(op(Bits<T>(assumed))));
    } while (old != assumed);
    return Bits<T>(old);
  }
}

template <class T>
struct Plus {
  T value;
  __device__ __forceinline__ T operator()(T old) const { return static_cast<T>(old + value); }
};
template <class T>
struct Times {
  T value;
  __device__ __forceinline__ T operator()(T old) const { return static_cast<T>(old * value); }
};
template <class T>
struct Greater {  // as fmax: what is no number gives way
  T value;
  __device__ __forceinline__ T operator()(T old) const {
    return old >= value || value != value ? old : value;
  }
};
template <class T>
struct Less {
  T value;
  __device__ __forceinline__ T operator()(T old) const {
    return old <= value || value != value ? old : value;
  }
};

template <class T, class U>
__device__ __forceinline__ T Add(T* address, U value) {
  const T addend = As<T>(value);
  if constexpr (std::is_same<T, int>::value || std::is_same<T, unsigned int>::value ||
                std::is_same<T, unsigned long long>::value ||  // NOLINT
                std::is_same<T, float>::value || std::is_same<T, double>::value ||
                std::is_same<T, half2>::value) {
    return atomicAdd(address, addend);
  } else if constexpr (std::is_integral<T>::value && sizeof(T) == 8) {
    using Word = unsigned long long;  // NOLINT
    return Bits<T>(atomicAdd(reinterpret_cast<Word*>(address), Bits<Word>(addend)));
  } else {
#if __CUDA_ARCH__ >= 700
    if constexpr (std::is_same<T, half>::value) {
      return atomicAdd(address, addend);
    }
#endif
#if __CUDA_ARCH__ >= 800
    if constexpr (std::is_same<T, nv_bfloat16>::value) {
      return atomicAdd(address, addend);
    }
#endif
    return Update(address, Plus<T>{addend});
  }
}
template <class T, class U>
__device__ __forceinline__ T Mul(T* address, U value) {
  return Update(address, Times<T>{As<T>(value)});
}
template <class T, class U>
__device__ __forceinline__ T Max(T* address, U value) {
  return Update(address, Greater<T>{As<T>(value)});
}
template <class T, class U>
__device__ __forceinline__ T Min(T* address, U value) {
  return Update(address, Less<T>{As<T>(value)});
}

// base[offset] += value, where base has `length` elements: two halves at once where they are
// aligned, which is quicker than one.
template <class T>
__device__ __forceinline__ void FastAdd(T* base, size_t offset, size_t length, T value) {
  if constexpr (std::is_same<T, half>::value) {
    half* const at = base + offset;
    const bool is_first = reinterpret_cast<uintptr_t>(at) % sizeof(half2) == 0;
    const half zero = __ushort_as_half(0x8000);  // -0: adding it changes nothing
    if (is_first && offset + 1 < length) {
      atomicAdd(reinterpret_cast<half2*>(at), __halves2half2(value, zero));
      return;
    }
    if (!is_first && offset > 0) {
      atomicAdd(reinterpret_cast<half2*>(at - 1), __halves2half2(zero, value));
      return;
    }
  }
  Add(base + offset, value);
}

}  // namespace atomic
}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // __CUDACC__

#endif  // ONEFLOW_CORE_CUDA_ATOMIC_CUH_
