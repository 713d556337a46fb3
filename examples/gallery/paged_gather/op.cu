// Pages of a KV cache side by side, on the GPU: a block copies a page, or what is needed of it.
//
// A page that is not in the cache, and a length that is not in [0, length], cannot be refused here
// without waiting for the GPU. Nothing outside of the cache is read: tokens of such a page are NaN
// (-1 for int8), and such a length counts as the nearest that is possible.
#include "../numbers.cuh"

using namespace oneop;

// In units of U: bytes do not change on the way, so any type of their number will do.
template <class U>
struct Pages {
  const U* cache;
  const int64_t* table;
  const int64_t* lengths;
  U* y;
  int64_t pages, page, token, length, columns, chunks, count;
};

template <class U>
__device__ __forceinline__ U AllBits(int bits) {
  union Bytes {
    U value;
    int8_t bytes[sizeof(U)];
    __device__ Bytes() {}
  } all;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(U)); ++i) {
    all.bytes[i] = static_cast<int8_t>(bits);
  }
  return all.value;
}

template <class U>
__global__ void __launch_bounds__(256) CopyPages(const Pages<U> all) {
  for (int64_t i = blockIdx.x; i < all.count; i += gridDim.x) {
    const gallery::Divided place(i, all.chunks);
    const int64_t first = place.rest * all.page, room = all.length - first;
    const int64_t tokens = room < all.page ? room : all.page;
    const int64_t wanted = all.lengths[place.quotient] - first;
    const int64_t filled = wanted < 0 ? 0 : wanted < tokens ? wanted : tokens;
    U* to = all.y + (place.quotient * all.length + first) * all.token;
    const int64_t copied = filled * all.token, end = tokens * all.token;
    const int64_t at = copied == 0 ? 0 : all.table[place.quotient * all.columns + place.rest];
    if (at >= 0 && at < all.pages) {
      const U* from = all.cache + at * all.page * all.token;
#pragma unroll 4
      for (int64_t k = threadIdx.x; k < copied; k += blockDim.x) {
        to[k] = __ldg(from + k);
      }
    } else {
      for (int64_t k = threadIdx.x; k < copied; k += blockDim.x) {
        to[k] = AllBits<U>(-1);
      }
    }
    for (int64_t k = copied + threadIdx.x; k < end; k += blockDim.x) {
      to[k] = AllBits<U>(0);
    }
  }
}

struct PagedGather {
  template <class T>
  void operator()(View<const T> cache, View<const int64_t> table, View<const int64_t> lengths,
                  View<T> y, Attrs, Call& call) const {
    const int64_t bytes = cache.size(2) * cache.size(3) * int64_t{sizeof(T)};
    if (gallery::ArePacked<16>(bytes, cache.data(), y.data())) {
      Copy<int4>(cache, table, lengths, y, bytes / 16, call);
    } else {
      using Unit = std::conditional_t<
          sizeof(T) == 8, int2,
          std::conditional_t<sizeof(T) == 4, int, std::conditional_t<sizeof(T) == 2, short, char>>>;
      Copy<Unit>(cache, table, lengths, y, bytes / int64_t{sizeof(T)}, call);
    }
  }

 private:
  template <class U, class T>
  static void Copy(const View<const T>& cache, const View<const int64_t>& table,
                   const View<const int64_t>& lengths, const View<T>& y, int64_t token,
                   Call& call) {
    const int64_t page = cache.size(1), length = y.size(1);
    const int64_t chunks = page == 0 ? 0 : (length + page - 1) / page;
    const Pages<U> all{reinterpret_cast<const U*>(cache.data()),
                       table.data(),
                       lengths.data(),
                       reinterpret_cast<U*>(y.data()),
                       cache.size(0),
                       page,
                       token,
                       length,
                       table.size(1),
                       chunks,
                       y.size(0) * chunks};
    if (all.count > 0) {
      const int threads = std::min(256, device::WholeWarps(page * token));
      CopyPages<U><<<device::GridFor(all.count, 1), threads, 0, call.cuda_stream()>>>(all);
      device::CheckLaunch();
    }
  }
};

OP_KERNELS("paged_gather(Tensor cache, Tensor table, Tensor lengths, *, int length) -> Tensor y")
    .cuda_kernel<float(float, int64_t, int64_t), double(double, int64_t, int64_t),
                 half(half, int64_t, int64_t), bfloat16(bfloat16, int64_t, int64_t),
                 int8_t(int8_t, int64_t, int64_t)>(PagedGather())
    .cuda_graph();
