// Products of int8 matrices on the tensor cores: sums[i][j] = x[i] . w[j], exact in int32.
//
// A block has a tile of kRows x kColumns results. Pieces of kDepth bytes of its rows of x and of w
// come to shared memory ahead of their use, kStages of them; warps read their parts by ldmatrix,
// without bank conflicts because rows there are 16 bytes longer.
#pragma once

#include "../numbers.cuh"

namespace tiles {

constexpr int kDepth = 64;
constexpr int kPitch = kDepth + 16;  // bytes of a row in shared memory
constexpr int kStages = 3;

// kDown x kAcross warps, each with kTall x kWide products of 16 x 8.
template <int kDownWarps, int kAcrossWarps, int kTallTiles, int kWideTiles>
struct Shape {
  static constexpr int kDown = kDownWarps, kAcross = kAcrossWarps;
  static constexpr int kTall = kTallTiles, kWide = kWideTiles;
  static constexpr int kThreads = 32 * kDown * kAcross;
  static constexpr int kRows = 16 * kTall * kDown, kColumns = 8 * kWide * kAcross;
  static constexpr int kStage = (kRows + kColumns) * kPitch;
  static constexpr int kShared = kStages * kStage;
};

// Rows of both matrices are `depth` bytes apart, a multiple of kDepth for x and of 16 for w.
struct Operands {
  const int8_t* x;
  const int8_t* w;
  int64_t m, n, x_step, w_step;
};

// 16 bytes, or zeros where they lie outside of the matrix.
__device__ __forceinline__ void CopyAhead(void* to, const void* from, bool is_there) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from),
               "r"(is_there ? 16 : 0));
#else
  *static_cast<int4*>(to) = is_there ? *static_cast<const int4*>(from) : int4{0, 0, 0, 0};
#endif
}
__device__ __forceinline__ void CloseGroup() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;");
#endif
}
// Waits until all but the last kOpen groups have arrived.
template <int kOpen>
__device__ __forceinline__ void WaitForGroups() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kOpen));
#endif
}

// Four matrices of 8 rows of 16 bytes; each thread names a row and gets 4 bytes of each.
__device__ __forceinline__ void LoadMatrices(uint32_t* parts, const int8_t* row) {
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(parts[0]), "=r"(parts[1]), "=r"(parts[2]), "=r"(parts[3])
               : "r"(place));
}
// sums += a (16 x 32) times b (32 x 8).
__device__ __forceinline__ void Multiply(int32_t* sums, const uint32_t* a, const uint32_t* b) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  // Turing has products of 8 x 8 x 16 alone: four of them.
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+r"(sums[2 * half]), "+r"(sums[2 * half + 1])
                   : "r"(a[2 * k + half]), "r"(b[k]));
    }
  }
#endif
}

// How many tiles there are across, and in all. blockIdx.x counts them.
template <class S>
__host__ __device__ int64_t Across(const Operands& all) {
  return (all.n + S::kColumns - 1) / S::kColumns;
}
template <class S>
int64_t Count(const Operands& all) {
  return Across<S>(all) * ((all.m + S::kRows - 1) / S::kRows);
}

// Pieces [first, last) of the depth; done(row, column, sum) for each result of the tile.
template <class S, class Done>
__device__ __forceinline__ void Run(const Operands& all, int64_t first, int64_t last,
                                    const Done& done) {
  extern __shared__ __align__(16) int8_t memory[];
  const gallery::Divided tile(blockIdx.x, Across<S>(all));
  const int64_t top = tile.quotient * S::kRows, left = tile.rest * S::kColumns;
  const auto fetch = [&](int64_t piece) {
    int8_t* const stage = memory + piece % kStages * S::kStage;
    for (int k = threadIdx.x; k < (S::kRows + S::kColumns) * (kDepth / 16); k += S::kThreads) {
      const int row = k / (kDepth / 16), column = k % (kDepth / 16) * 16;
      const int64_t depth = piece * kDepth + column;
      const bool is_x = row < S::kRows;
      const int64_t number = is_x ? top + row : left + row - S::kRows;
      const bool is_there = piece < last && (is_x ? number < all.m && depth < all.x_step
                                                  : number < all.n && depth < all.w_step);
      const int8_t* from = is_x ? all.x + number * all.x_step : all.w + number * all.w_step;
      CopyAhead(stage + row * kPitch + column, is_there ? from + depth : all.x, is_there);
    }
    CloseGroup();
  };
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int down = warp % S::kDown * 16 * S::kTall, across = warp / S::kDown * 8 * S::kWide;
  int32_t sums[S::kTall][S::kWide][4] = {};
  for (int64_t piece = first; piece < first + kStages - 1; ++piece) {
    fetch(piece);
  }
  for (int64_t piece = first; piece < last; ++piece) {
    WaitForGroups<kStages - 2>();
    __syncthreads();  // this piece is here, and the one before is read
    fetch(piece + kStages - 1);
    const int8_t* const stage = memory + piece % kStages * S::kStage;
#pragma unroll
    for (int k = 0; k < kDepth; k += 32) {
      uint32_t a[S::kTall][4], b[S::kWide][2];
#pragma unroll
      for (int i = 0; i < S::kTall; ++i) {
        LoadMatrices(a[i], stage + (down + 16 * i + lane % 16) * kPitch + k + lane / 16 * 16);
      }
#pragma unroll
      for (int j = 0; j < S::kWide; j += 2) {
        LoadMatrices(b[j], stage + (S::kRows + across + 8 * j + lane / 16 * 8 + lane % 8) * kPitch +
                               k + lane / 8 % 2 * 16);
      }
#pragma unroll
      for (int i = 0; i < S::kTall; ++i) {
#pragma unroll
        for (int j = 0; j < S::kWide; ++j) {
          Multiply(sums[i][j], a[i], b[j]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < S::kTall; ++i) {
#pragma unroll
    for (int j = 0; j < S::kWide; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int64_t row = top + down + 16 * i + lane / 4 + k / 2 * 8;
        const int64_t column = left + across + 8 * j + lane % 4 * 2 + k % 2;
        if (row < all.m && column < all.n) {
          done(row, column, sums[i][j][k]);
        }
      }
    }
  }
}

}  // namespace tiles
