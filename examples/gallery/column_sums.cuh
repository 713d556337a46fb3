// Gradients of norms: a row gives its own gradient, and adds to sums that all rows share, those of
// the weights.
//
// A group of threads works on every so-many-th row, fetches the next one meanwhile, and keeps its
// sums in shared memory, where each number belongs to one thread; then the sums of the groups are
// added up. All orders are fixed by the sizes, so results have the same bits in every run. Rows
// that do not fit the registers take two passes: one for each row, one for each column.
#ifndef ONEOP_GALLERY_COLUMN_SUMS_CUH_
#define ONEOP_GALLERY_COLUMN_SUMS_CUH_

#include "numbers.cuh"

namespace gallery {

template <class R>
struct OutputLikeOf;
template <class T, class C, class G, int kSize, int kPacks>
struct OutputLikeOf<device::Row<const T, C, G, kSize, kPacks>> {
  using type = device::Row<T, C, G, kSize, kPacks>;
};
template <class R>
using OutputLike = typename OutputLikeOf<R>::type;

// The sums of this thread: fn(elements..., sums) for each of its elements of a row.
template <class C, int kSums, int kSize, int kPacks>
struct SharedSums {
  C* own;

  __device__ __forceinline__ C& At(int s, int p, int i) const {
    return own[((s * kPacks + p) * kSize + i) * static_cast<int>(blockDim.x)];
  }
  __device__ __forceinline__ void Start() const {
    for (int k = 0; k < kSums * kPacks * kSize; ++k) {
      own[k * static_cast<int>(blockDim.x)] = 0;
    }
  }
  template <class F, class Row, class... Rows>
  __device__ __forceinline__ void operator()(const F& fn, const Row& row,
                                             const Rows&... rows) const {
    device::ForPacks(
        [&](int p, int64_t at) {
          const auto call = [&](const auto&... packs) {
#pragma unroll
            for (int i = 0; i < kSize; ++i) {
              C sums[kSums];
#pragma unroll
              for (int s = 0; s < kSums; ++s) {
                sums[s] = At(s, p, i);
              }
              fn(packs.at[i]..., sums);
#pragma unroll
              for (int s = 0; s < kSums; ++s) {
                At(s, p, i) = sums[s];
              }
            }
          };
          call(row.Load(p, at), rows.Load(p, at)...);
        },
        row, rows...);
  }
};
struct NoSums {
  template <class... Args>
  __device__ __forceinline__ void operator()(const Args&...) const {}
};

// partial: a row of kSums * n for each group.
template <class T, class Work, class S>
__global__ void __launch_bounds__(S::kMost, S::MinBlocks(6))
    SumRows(const Work work, int64_t rows, typename Work::C* partial) {
  using C = typename Work::C;
  using Row = device::Row<const T, C, typename S::Group, S::kSize, S::kPacks>;
  extern __shared__ __align__(16) unsigned char room[];
  const SharedSums<C, Work::kSums, S::kSize, S::kPacks> sums{reinterpret_cast<C*>(room) +
                                                             threadIdx.x};
  sums.Start();
  const Row weight(work.w, work.n);
  const int64_t number = S::Group::number();
  for (int64_t row = number; row < rows; row += S::Group::count()) {
    if (row + S::Group::count() < rows) {
      work.template Fetch<Row>(row + S::Group::count());
    }
    work.template operator()<Row>(row, weight, sums);
  }
  for (int s = 0; s < Work::kSums; ++s) {
    C* const to = partial + (number * Work::kSums + s) * work.n;
    device::ForPacks(
        [&](int p, int64_t at) {
          for (int i = 0; i < S::kSize; ++i) {
            to[at + i] = sums.At(s, p, i);
          }
        },
        weight);
  }
}

// Rows that stay in memory; `known` has what the sums need of each.
template <class T, class Work, class S>
__global__ void __launch_bounds__(S::kMost)
    LongRows(const Work work, int64_t rows, typename Work::Known* known) {
  using Row = device::Row<const T, typename Work::C, typename S::Group, S::kSize, S::kPacks>;
  const Row weight(work.w, work.n);
  for (int64_t row = S::Group::number(); row < rows; row += S::Group::count()) {
    const typename Work::Known of_row = work.template operator()<Row>(row, weight, NoSums());
    if (S::Group::rank() == 0) {
      known[row] = of_row;
    }
  }
}
// A block has 32 columns and a part of the rows, which its 8 warps share.
constexpr int kColumnWarps = 8;
template <class Work>
__global__ void __launch_bounds__(32 * kColumnWarps)
    SumColumns(const Work work, int64_t rows, const typename Work::Known* known,
               typename Work::C* partial) {
  using C = typename Work::C;
  __shared__ C of_warps[Work::kSums][kColumnWarps][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + lane;
  const int64_t begin = rows * blockIdx.y / gridDim.y, end = rows * (blockIdx.y + 1) / gridDim.y;
  C sums[Work::kSums] = {};
  for (int64_t row = begin + warp; row < end && column < work.n; row += kColumnWarps) {
    work.AddTo(sums, known[row], row * work.n + column);
  }
#pragma unroll
  for (int s = 0; s < Work::kSums; ++s) {
    of_warps[s][warp][lane] = sums[s];
  }
  __syncthreads();
  for (int s = warp; s < Work::kSums && column < work.n; s += kColumnWarps) {
    C total = 0;
    for (int k = 0; k < kColumnWarps; ++k) {
      total += of_warps[s][k][lane];
    }
    partial[(blockIdx.y * Work::kSums + s) * work.n + column] = total;
  }
}

// Adds up the rows of `partial`: 32 columns for each block, its 32 warps take turns with the rows.
template <class T, int kSums>
struct SumTargets {
  T* to[kSums];
};
template <class T, class C, int kSums>
__global__ void __launch_bounds__(1024)
    AddParts(int64_t parts, int64_t n, const C* partial, const SumTargets<T, kSums> targets) {
  __shared__ C of_warps[32][33];
  const int64_t width = kSums * n;
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x % 32;
  C sum = 0;
  for (int64_t part = threadIdx.x / 32; part < parts && column < width; part += 32) {
    sum += partial[part * width + column];
  }
  of_warps[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  sum = device::WarpGroup::AllReduce(of_warps[threadIdx.x % 32][threadIdx.x / 32], C(0),
                                     [](C a, C b) { return a + b; });
  const int64_t own = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && own < width) {
    targets.to[own / n][own % n] = static_cast<T>(sum);
  }
}

// How many groups share the rows: the same on every GPU, enough for the memory of a large one.
inline unsigned SumBlocks(int64_t rows, int64_t rows_of_block, int threads) {
  const int64_t most = threads <= 256 ? 528 : 264;
  return static_cast<unsigned>(
      std::max<int64_t>(1, std::min(most, (rows + rows_of_block - 1) / rows_of_block)));
}

// At least what kernels of column sums declare as shared memory themselves, in bytes.
constexpr int kOwnShared = 4096;

template <class T, class Work>
struct SumLauncher {
  using C = typename Work::C;
  const Work& work;
  int64_t rows;
  SumTargets<T, Work::kSums> targets;
  oneop::Call& call;

  template <class S>
  void operator()(S, unsigned blocks, int threads) const {
    if constexpr (S::kPacks == 0) {
      RunLong<S>(blocks, threads);
    } else {
      const int shared = static_cast<int>(sizeof(C)) * Work::kSums * S::kPacks * S::kSize * threads;
      int most = 0;
      device::CheckLaunch(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                                 call.device_index()));
      if (shared > most - kOwnShared) {
        using Long = device::LongSpread<S::kSize>;
        RunLong<Long>(device::GridFor(rows, 1), Long::kMost);
      } else {
        RunKept<S>(threads, shared);
      }
    }
  }

 private:
  template <class S>
  void RunKept(int threads, int shared) const {
    const int groups = S::Group::kIsBlock ? 1 : threads / device::kWarp;
    const unsigned blocks = SumBlocks(rows, groups, threads);
    const int64_t parts = static_cast<int64_t>(blocks) * groups;
    C* partial = call.scratch<C>(parts * Work::kSums * work.n);
    const auto kernel = &SumRows<T, Work, S>;
    if (shared > 48 * 1024 - kOwnShared) {  // what is declared in the kernel counts too
      device::CheckLaunch(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    }
    kernel<<<blocks, threads, shared, call.cuda_stream()>>>(work, rows, partial);
    device::CheckLaunch();
    Finish(parts, partial);
  }
  template <class S>
  void RunLong(unsigned blocks, int threads) const {
    auto* known = call.scratch<typename Work::Known>(rows);
    LongRows<T, Work, S><<<blocks, threads, 0, call.cuda_stream()>>>(work, rows, known);
    device::CheckLaunch();
    const int64_t columns = (work.n + 31) / 32;
    const int64_t parts =
        std::max<int64_t>(1, std::min<int64_t>({rows, 64, (4096 + columns - 1) / columns}));
    C* partial = call.scratch<C>(parts * Work::kSums * work.n);
    const dim3 grid(static_cast<unsigned>(columns), static_cast<unsigned>(parts));
    SumColumns<Work>
        <<<grid, 32 * kColumnWarps, 0, call.cuda_stream()>>>(work, rows, known, partial);
    device::CheckLaunch();
    Finish(parts, partial);
  }
  void Finish(int64_t parts, const C* partial) const {
    const unsigned blocks = device::GridFor(Work::kSums * work.n, 32);
    AddParts<T, C, Work::kSums>
        <<<blocks, 1024, 0, call.cuda_stream()>>>(parts, work.n, partial, targets);
    device::CheckLaunch();
  }
};

// work(row) for each row, and `targets` = the sums of its columns. T is what lies in memory.
template <class T, class Work>
void RowsWithSums(const Work& work, int64_t rows, bool is_packed,
                  const SumTargets<T, Work::kSums>& targets, oneop::Call& call) {
  if (work.n == 0) {
    return;
  }
  const SumLauncher<T, Work> launcher{work, rows, targets, call};
  device::ForSpread<kPack<T>>(std::max<int64_t>(rows, 1), work.n, is_packed, launcher);
}

}  // namespace gallery

#endif  // ONEOP_GALLERY_COLUMN_SUMS_CUH_
