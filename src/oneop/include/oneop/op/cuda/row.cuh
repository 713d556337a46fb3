// DeviceRow: one row of a tensor inside a functor that runs on the GPU, and reductions over it.
//
// A group of threads has one row. Thread t has the packs t, t + threads, t + 2 * threads, ... of
// it; a row of kPacks packs for each thread is kept in registers, one with kPacks = 0 stays in
// memory and is read again by every pass.
#ifndef ONEOP_OP_CUDA_ROW_CUH_
#define ONEOP_OP_CUDA_ROW_CUH_

#include "oneflow/core/cuda/pack.cuh"
#include "oneop/op/cuda/group.cuh"
#include "oneop/op/math/functions.h"
#include "oneop/op/math/half.h"

// A functor of ONEOP_FUNCTOR is for host and device, and calls what is for one of them.
#pragma nv_diag_suppress 20011, 20013, 20014, 20015

namespace oneop ONEOP_HIDDEN {
namespace device {

template <class N, int kSize>
struct Values {
  N at[kSize];
};

// A pack of an input, which nothing writes to while the kernel runs: such loads may be moved before
// stores. The address is a multiple of the pack's bytes, or of 16.
template <class V>
__device__ __forceinline__ V ReadConstant(const void* from) {
  constexpr int kBytes = sizeof(V);
  using Unit = std::conditional_t<
      kBytes % 16 == 0, int4,
      std::conditional_t<kBytes == 8, int2,
                         std::conditional_t<kBytes == 4, int,
                                            std::conditional_t<kBytes == 2, short, signed char>>>>;
  constexpr int kUnits = kBytes / static_cast<int>(sizeof(Unit));
  union Words {
    V value;
    Unit units[kUnits];
    __device__ Words() {}
  } words;
#pragma unroll
  for (int i = 0; i < kUnits; ++i) {
    words.units[i] = __ldg(static_cast<const Unit*>(from) + i);
  }
  return words.value;
}
template <class N, int kSize, int kPacks>
struct Kept {
  Values<N, kSize> packs[kPacks];
};
template <class N, int kSize>
struct Kept<N, kSize, 0> {};

// T is what lies in memory, const for an input; C what is computed with.
template <class T, class C, class Threads, int kSize, int kPacks>
class Row {
 public:
  using Element = Number<C>;
  using Group = Threads;
  using Plain = std::remove_const_t<T>;
  static constexpr bool kIsInput = std::is_const_v<T>;
  static constexpr int kElements = kSize;  // of a pack
  static constexpr int kNumPacks = kPacks;
  static constexpr bool kIsKept = kPacks != 0;

  // With kSize > 1 the row starts at a whole pack and has a whole number of them.
  __device__ __forceinline__ Row(T* data, int64_t length) : data_(data), length_(length) {
    if constexpr (kIsInput && kIsKept) {
#pragma unroll
      for (int p = 0; p < kPacks; ++p) {
        const int64_t at = Start(p);
        if (at < length_) {
          raw_.packs[p] = Read(at);
        }
      }
    }
  }

  ONEOP_BOTH int64_t size() const { return length_; }
  ONEOP_BOTH T* data() const { return data_; }

  // Element i, from memory, for every thread that asks.
  struct Reference {
    T* to;
    ONEOP_BOTH void operator=(Element value) const { *to = static_cast<Plain>(value.value); }
  };
  ONEOP_BOTH std::conditional_t<kIsInput, Element, Reference> operator[](int64_t i) const {
    if constexpr (kIsInput) {
      return Element(static_cast<C>(data_[i]));
    } else {
      return Reference{data_ + i};  // all threads write the same value
    }
  }

  // The first element of this thread's pack p.
  __device__ __forceinline__ static int64_t Start(int p) {
    return static_cast<int64_t>(Group::rank() + p * Group::size()) * kSize;
  }
  // The pack at element `at`, which is Start(p).
  __device__ __forceinline__ Values<Element, kSize> Load(int p, int64_t at) const {
    Values<Element, kSize> values;
    if constexpr (kIsKept && !kIsInput) {
      values = kept_.packs[p];
    } else {
      Values<Plain, kSize> pack;
      if constexpr (kIsKept) {
        pack = raw_.packs[p];
      } else {
        pack = Read(at);
      }
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        values.at[i] = Element(static_cast<C>(pack.at[i]));
      }
    }
    return values;
  }
  __device__ __forceinline__ void Store(int p, int64_t at, const Values<Element, kSize>& values) {
    ::oneflow::cuda::Pack<Plain, kSize> pack;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      pack.values[i] = static_cast<Plain>(values.at[i].value);
    }
    ::oneflow::cuda::StorePack<kSize>(data_ + at, pack);
    if constexpr (kIsKept) {
      kept_.packs[p] = values;
    }
  }

 private:
  __device__ __forceinline__ Values<Plain, kSize> Read(int64_t at) const {
    if constexpr (kIsInput) {
      return ReadConstant<Values<Plain, kSize>>(data_ + at);
    } else {
      const auto pack = ::oneflow::cuda::LoadPack<kSize>(data_ + at);
      Values<Plain, kSize> values;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        values.at[i] = pack.values[i];
      }
      return values;
    }
  }

  T* data_;
  int64_t length_;
  Kept<Plain, kSize, kIsInput ? kPacks : 0> raw_;     // as in memory: half the registers for half
  Kept<Element, kSize, kIsInput ? 0 : kPacks> kept_;  // as computed, not rounded
};

// fn(p, at) for each pack of this thread. Rows that are walked through together have one length;
// where they have not, the shortest counts, since nothing can be said from here.
template <class First, class F, class... Rest>
__device__ __forceinline__ void ForPacks(const F& fn, const First& first, const Rest&... rest) {
  int64_t length = first.size();
  static_cast<void>(((length = rest.size() < length ? rest.size() : length), ...));
  if constexpr (First::kIsKept) {
#pragma unroll
    for (int p = 0; p < First::kNumPacks; ++p) {
      const int64_t at = First::Start(p);
      if (at < length) {
        fn(p, at);
      }
    }
  } else {
#pragma unroll 4
    for (int64_t at = First::Start(0); at < length;
         at += static_cast<int64_t>(First::Group::size()) * First::kElements) {
      fn(0, at);
    }
  }
}

// --- What functors call; found by its name alone, because a row is of this namespace ---

// fn(i, x[i], ...) for the elements of this thread; the other threads have the others.
template <class F, class T, class C, class G, int kSize, int kPacks, class... Rest>
ONEOP_BOTH void walk(const F& fn, const Row<T, C, G, kSize, kPacks>& x, const Rest&... rest) {
#if defined(__CUDA_ARCH__)
  ForPacks(
      [&](int p, int64_t at) {
        const auto call = [&](const auto&... packs) {
#pragma unroll
          for (int i = 0; i < kSize; ++i) {
            fn(at + i, packs.at[i]...);
          }
        };
        call(x.Load(p, at), rest.Load(p, at)...);
      },
      x, rest...);
#endif
}
// join of `value` of all threads that have this row. join(start, a) is a.
template <class V, class Join, class T, class C, class G, int kSize, int kPacks>
ONEOP_BOTH V joined(const Row<T, C, G, kSize, kPacks>&, V value, V start, const Join& join) {
#if defined(__CUDA_ARCH__)
  return G::AllReduce(value, start, join);
#else
  return value;
#endif
}
// y[i] = fn(i, x[i], ...) and y[i] = fn(x[i], ...).
template <class F, class T, class C, class G, int kSize, int kPacks, class... Rest>
ONEOP_BOTH void map_at(Row<T, C, G, kSize, kPacks>& y, const F& fn, const Rest&... x) {
#if defined(__CUDA_ARCH__)
  using N = Number<C>;
  ForPacks(
      [&](int p, int64_t at) {
        Values<N, kSize> values;
        const auto call = [&](const auto&... packs) {
#pragma unroll
          for (int i = 0; i < kSize; ++i) {
            values.at[i] = N(fn(at + i, packs.at[i]...));
          }
        };
        call(x.Load(p, at)...);
        y.Store(p, at, values);
      },
      y, x...);
#endif
}
template <class F, class T, class C, class G, int kSize, int kPacks, class... Rest>
ONEOP_BOTH void map(Row<T, C, G, kSize, kPacks>& y, const F& fn, const Rest&... x) {
  map_at(y, [&](int64_t, const auto&... values) { return fn(values...); }, x...);
}

// Reductions over a row; every thread gets the result.
template <class F, class T, class C, class G, int kSize, int kPacks, class... Rest>
ONEOP_BOTH Number<C> sum(const Row<T, C, G, kSize, kPacks>& x, const F& fn, const Rest&... rest) {
  using N = Number<C>;
  N total(0);
  walk([&](int64_t, N value, auto... others) { total = total + N(fn(value, others...)); }, x,
       rest...);
  return joined(x, total, N(0), [](N a, N b) { return a + b; });
}
template <class T, class C, class G, int kSize, int kPacks>
ONEOP_BOTH Number<C> sum(const Row<T, C, G, kSize, kPacks>& x) {
  return sum(x, [](auto value) { return value; });
}
template <class T, class U, class C, class D, class G, int kSize, int kPacks>
ONEOP_BOTH Number<C> dot(const Row<T, C, G, kSize, kPacks>& x,
                         const Row<U, D, G, kSize, kPacks>& y) {
  using N = Number<C>;
  N total(0);
  walk([&](int64_t, auto a, auto b) { total = total + N(a * b); }, x, y);
  return joined(x, total, N(0), [](N a, N b) { return a + b; });
}
template <class T, class C, class G, int kSize, int kPacks>
ONEOP_BOTH Number<C> max(const Row<T, C, G, kSize, kPacks>& x) {
  using N = Number<C>;
  N best(-__builtin_inf());
  walk([&](int64_t, N value) { best = max(best, value); }, x);
  return joined(x, best, N(-__builtin_inf()), [](N a, N b) { return max(a, b); });
}
template <class T, class C, class G, int kSize, int kPacks>
ONEOP_BOTH Number<C> min(const Row<T, C, G, kSize, kPacks>& x) {
  using N = Number<C>;
  N best(__builtin_inf());
  walk([&](int64_t, N value) { best = min(best, value); }, x);
  return joined(x, best, N(__builtin_inf()), [](N a, N b) { return min(a, b); });
}

}  // namespace device
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_CUDA_ROW_CUH_
