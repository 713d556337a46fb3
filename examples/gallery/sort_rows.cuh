// The rows of each segment side by side, in their order: a stable sort of row numbers by an index,
// 8 bits of it at a time. Nothing is atomic, so the result is the same in every run.
//
// An index outside of [0, segments) counts as `segments`: its rows come last, and belong to none.
#ifndef ONEOP_GALLERY_SORT_ROWS_CUH_
#define ONEOP_GALLERY_SORT_ROWS_CUH_

#include "numbers.cuh"

namespace gallery {

constexpr int kSortThreads = 256;
constexpr int kSortItems = 8;  // of a thread; a tile has 2048 rows
constexpr int kTile = kSortThreads * kSortItems;
constexpr int kDigits = 256;

struct alignas(8) Keyed {
  uint32_t key, row;
};

struct MakeKeys {
  const int64_t* index;
  int64_t segments;
  Keyed* to;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const int64_t s = index[i];
    to[i] = {static_cast<uint32_t>(s < 0 || s >= segments ? segments : s),
             static_cast<uint32_t>(i)};
  }
};

// counts[digit][tile] = the keys of a tile with this digit.
__global__ void __launch_bounds__(kSortThreads)
    CountDigits(const Keyed* from, int64_t rows, int shift, uint32_t* counts) {
  __shared__ uint32_t own[kDigits];
  own[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kTile;
  for (int k = 0; k < kSortItems; ++k) {
    const int64_t i = begin + k * kSortThreads + threadIdx.x;
    if (i < rows) {
      atomicAdd(&own[(from[i].key >> shift) & (kDigits - 1)], 1u);  // of whole numbers: no order
    }
  }
  __syncthreads();
  counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x] = own[threadIdx.x];
}

// The sum of the values of the threads before this one, in a block of kSortThreads.
__device__ __forceinline__ uint32_t SumBefore(uint32_t value, uint32_t* total) {
  __shared__ uint32_t of_warps[kSortThreads / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t running = value;
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint32_t before = __shfl_up_sync(0xffffffffu, running, step);
    running += lane >= step ? before : 0;
  }
  if (lane == 31) {
    of_warps[warp] = running;
  }
  __syncthreads();
  uint32_t sum = 0, all = 0;
  for (int k = 0; k < kSortThreads / 32; ++k) {
    sum += k < warp ? of_warps[k] : 0;
    all += of_warps[k];
  }
  __syncthreads();
  *total = all;
  return sum + running - value;
}

// counts of a digit become sums of those of the tiles before; totals[digit] their sum.
__global__ void __launch_bounds__(kSortThreads)
    SumOverTiles(uint32_t* counts, int64_t tiles, uint32_t* totals) {
  uint32_t* const own = counts + static_cast<int64_t>(blockIdx.x) * tiles;
  uint32_t start = 0;
  for (int64_t begin = 0; begin < tiles; begin += kSortThreads) {
    const int64_t i = begin + threadIdx.x;
    uint32_t total;
    const uint32_t before = SumBefore(i < tiles ? own[i] : 0, &total);
    if (i < tiles) {
      own[i] = start + before;
    }
    start += total;
  }
  if (threadIdx.x == 0) {
    totals[blockIdx.x] = start;
  }
}

// Each key to its place: after all smaller digits, those of earlier tiles, and the earlier ones of
// its own tile. A warp has 256 neighbours and takes 32 of them at a time, in their order.
__global__ void __launch_bounds__(kSortThreads)
    MoveKeys(const Keyed* from, int64_t rows, int shift, const uint32_t* counts,
             const uint32_t* totals, Keyed* to) {
  constexpr int kWarps = kSortThreads / 32;
  __shared__ uint32_t places[kWarps][kDigits];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int k = 0; k < kWarps; ++k) {
    places[k][threadIdx.x] = 0;
  }
  __syncthreads();
  const int64_t begin =
      static_cast<int64_t>(blockIdx.x) * kTile + static_cast<int64_t>(warp) * 32 * kSortItems;
  Keyed keys[kSortItems];
  uint32_t ranks[kSortItems];  // among those of this warp with the same digit
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    const int64_t i = begin + k * 32 + lane;
    const bool is_there = i < rows;
    keys[k] = is_there ? from[i] : Keyed{0, 0};
    const uint32_t digit = (keys[k].key >> shift) & (kDigits - 1);
    const uint32_t equal = __match_any_sync(0xffffffffu, is_there ? digit : kDigits);
    const uint32_t earlier = __popc(equal & ((1u << lane) - 1));
    ranks[k] = places[warp][digit] + earlier;
    __syncwarp();
    if (is_there && earlier == 0) {
      places[warp][digit] += __popc(equal);
    }
    __syncwarp();
  }
  __syncthreads();
  uint32_t unused;
  const uint32_t smaller = SumBefore(totals[threadIdx.x], &unused);
  uint32_t place = smaller + counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x];
  for (int k = 0; k < kWarps; ++k) {
    const uint32_t own = places[k][threadIdx.x];
    places[k][threadIdx.x] = place;
    place += own;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < kSortItems; ++k) {
    if (begin + k * 32 + lane < rows) {
      const uint32_t digit = (keys[k].key >> shift) & (kDigits - 1);
      to[places[warp][digit] + ranks[k]] = keys[k];
    }
  }
}

// Row numbers with their segments, sorted by these; in scratch memory of the call.
inline const Keyed* SortRows(const int64_t* index, int64_t rows, int64_t segments,
                             oneop::Call& call) {
  if (rows >= (int64_t{1} << 31) || segments >= (int64_t{1} << 31)) {
    oneop::op::Refuse({"expected fewer than 2^31 rows and segments on the GPU"});
  }
  const cudaStream_t stream = call.cuda_stream();
  const int64_t tiles = (rows + kTile - 1) / kTile;
  Keyed* from = call.scratch<Keyed>(rows);
  Keyed* to = call.scratch<Keyed>(rows);
  auto* counts = call.scratch<uint32_t>(kDigits * (tiles + 1));
  uint32_t* totals = counts + kDigits * tiles;
  ForEach(MakeKeys{index, segments, from}, rows, stream);
  for (int shift = 0; rows != 0 && (segments >> shift) != 0; shift += 8) {
    const auto blocks = static_cast<unsigned>(tiles);
    CountDigits<<<blocks, kSortThreads, 0, stream>>>(from, rows, shift, counts);
    SumOverTiles<<<kDigits, kSortThreads, 0, stream>>>(counts, tiles, totals);
    MoveKeys<<<blocks, kSortThreads, 0, stream>>>(from, rows, shift, counts, totals, to);
    device::CheckLaunch();
    std::swap(from, to);
  }
  return from;
}

}  // namespace gallery

#endif  // ONEOP_GALLERY_SORT_ROWS_CUH_
