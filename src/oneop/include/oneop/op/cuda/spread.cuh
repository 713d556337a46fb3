// How the rows of a tensor are spread over the threads of a GPU, and launches of kernels.
#ifndef ONEOP_OP_CUDA_SPREAD_CUH_
#define ONEOP_OP_CUDA_SPREAD_CUH_

#include <atomic>

#include "oneop/op/cuda/row.cuh"
#include "oneop/sdk/value.h"

namespace oneop ONEOP_HIDDEN {
namespace device {

// Throws, and forgets the error: the next launch of this thread is not to blame for it.
[[noreturn]] ONEOP_COLD inline void ThrowLaunch(cudaError_t error) {
  static_cast<void>(cudaGetLastError());
  sdk::ThrowText(ONEOP_ERROR_RUNTIME,
                 {"a CUDA kernel could not be launched: ", cudaGetErrorString(error)});
}
// After a launch: what the host knows of it.
inline void CheckLaunch(cudaError_t error = cudaPeekAtLastError()) {
  if (!ONEOP_LIKELY(error == cudaSuccess)) {
    ThrowLaunch(error);
  }
}

// How a row is spread over threads: a warp holds a row of at most 4 packs for each of its threads,
// a block one of 2 packs for each of at most 256, then 4, then 2 for each of 1024; longer rows stay
// in memory, and a block goes through them as often as it is told to. kMost: threads of a block,
// which bounds the registers of a thread.
constexpr int kWarpBlock = 128;  // threads of a block whose warps have a row each
constexpr int kMostThreads = 1024;

template <class Threads, int kElements, int kPacksOfThread, int kMostOfBlock>
struct Spread {
  using Group = Threads;
  static constexpr int kSize = kElements;
  static constexpr int kPacks = kPacksOfThread;
  static constexpr int kMost = kMostOfBlock;
  // Blocks that a multiprocessor should hold at once, for a functor of so many rows: two packs of
  // three rows fit 64 registers. Without a bound the compiler takes a few more, and a quarter of
  // the threads are missing that would wait for memory meanwhile. 0: as the compiler has it.
  static constexpr int MinBlocks(int tensors) {
    const int threads = kPacks == 2 && tensors <= 3 ? 1024 : kPacks == 2 || tensors <= 3 ? 512 : 1;
    return kPacks == 0 || threads < kMost ? 0 : threads / kMost;
  }
};
template <int kSize>
using LongSpread = Spread<BlockGroup, kSize, 0, kMostThreads / 2>;

inline int WholeWarps(int64_t threads) {
  const int64_t warps = (threads + kWarp - 1) / kWarp;
  return static_cast<int>((warps < 1 ? 1 : warps) * kWarp);
}
// Blocks for so many groups. A grid has at most 2^31 - 1: kernels go on where there are more.
inline unsigned GridFor(int64_t groups, int64_t groups_of_block) {
  const int64_t blocks = (groups + groups_of_block - 1) / groups_of_block;
  return static_cast<unsigned>(blocks < 0x7fffffff ? blocks : 0x7fffffff);
}

// Calls fn(Spread, blocks, threads of a block), a group of threads for each row.
template <int kSize, int kPacks, int kMost, class F>
void SpreadOverBlocks(int64_t rows, int64_t packs, const F& fn) {
  fn(Spread<BlockGroup, kSize, kPacks, kMost>(), GridFor(rows, 1),
     WholeWarps((packs + kPacks - 1) / kPacks));
}
template <int kSize, class F>
void ForLongRows(int64_t rows, int64_t packs, const F& fn) {
  if constexpr (kSize == 1) {
    if (packs <= 4 * kMostThreads) {
      return SpreadOverBlocks<kSize, 4, kMostThreads>(rows, packs, fn);
    }
  } else if (packs <= 512) {
    return SpreadOverBlocks<kSize, 2, 256>(rows, packs, fn);
  } else if (packs <= 1024) {
    return SpreadOverBlocks<kSize, 4, 256>(rows, packs, fn);
  } else if (packs <= 2 * kMostThreads) {
    return SpreadOverBlocks<kSize, 2, kMostThreads>(rows, packs, fn);
  }
  fn(LongSpread<kSize>(), GridFor(rows, 1), kMostThreads / 2);
}
template <int kSize, class F>
void ForSpreadOf(int64_t rows, int64_t length, const F& fn) {
  const int64_t packs = length / kSize;
  const unsigned by_warps = GridFor(rows, kWarpBlock / kWarp);
  if (packs <= kWarp) {
    fn(Spread<WarpGroup, kSize, 1, kWarpBlock>(), by_warps, kWarpBlock);
  } else if (packs <= 4 * kWarp) {
    fn(Spread<WarpGroup, kSize, 4, kWarpBlock>(), by_warps, kWarpBlock);
  } else {
    ForLongRows<kSize>(rows, packs, fn);
  }
}
// Calls fn(Spread, blocks, threads of a block) for rows of `length` elements. is_packed: every row
// starts at a whole pack of kSize elements and has a whole number of them.
template <int kSize, class F>
void ForSpread(int64_t rows, int64_t length, bool is_packed, const F& fn) {
  if constexpr (kSize > 1) {
    if (is_packed) {
      ForSpreadOf<kSize>(rows, length, fn);
      return;
    }
  }
  ForSpreadOf<1>(rows, length, fn);
}

// Asks for a row that this group will read next, without waiting: it comes into the GPU's second
// cache while the group works on the row before. R is the type of the row; a line of
// the cache has 128 bytes.
template <class R>
__device__ __forceinline__ void Fetch(const typename R::Plain* data, int64_t length) {
#pragma unroll
  for (int p = 0; p < R::kNumPacks; ++p) {
    const int64_t at = R::Start(p);
    if (at < length && R::Group::rank() % (128 / (R::kElements * sizeof(typename R::Plain))) == 0) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(data + at));
    }
  }
}

// How many blocks of a kernel the current GPU runs at once. `last` is the last answer and what was
// asked (GPU, threads): a kernel is mostly launched in one way. One word, so that threads of the
// host need no lock.
template <class Kernel>
unsigned BlocksAtOnce(const Kernel& kernel, int threads, std::atomic<uint64_t>* last) {
  int gpu = 0;
  CheckLaunch(cudaGetDevice(&gpu));
  const uint64_t asked = (static_cast<uint64_t>(gpu) << 16) + static_cast<uint64_t>(threads);
  const uint64_t known = last->load(std::memory_order_relaxed);
  if (known >> 32 == asked) {
    return static_cast<unsigned>(known);
  }
  int processors = 0, blocks = 0;
  CheckLaunch(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, gpu));
  CheckLaunch(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, 0));
  const unsigned at_once = static_cast<unsigned>(processors * (blocks < 1 ? 1 : blocks));
  last->store(asked << 32 | at_once, std::memory_order_relaxed);
  return at_once;
}

}  // namespace device
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_CUDA_SPREAD_CUH_
