// A reduction over the rows of each segment, once these are side by side (sort_rows.cuh).
//
// The sorted rows are cut into pieces of one length. A team of threads goes through a piece, each
// thread with its columns, and writes the result of every run that is all inside. What a piece has
// of a run that goes over its ends is kept, and joined by a second kernel. The cuts depend on the
// sizes alone, so results have the same bits in every run.
#ifndef ONEOP_GALLERY_SEGMENT_RUNS_CUH_
#define ONEOP_GALLERY_SEGMENT_RUNS_CUH_

#include "sort_rows.cuh"

namespace gallery {

// Kind has Part, what is known of some rows; None(); Of(value, row); Join(part, part), of which the
// order does not matter but for rounding; and Put(part, place).
template <class Kind>
struct Runs {
  const typename Kind::Element* x;
  const Keyed* sorted;
  int64_t rows, columns, segments, length, pieces;
  int team;                      // threads with one piece: a power of 2
  typename Kind::Part* partial;  // of each piece: its first run, its last run
  Kind kind;

  __device__ __forceinline__ int64_t Begin(int64_t piece) const { return piece * length; }
  __device__ __forceinline__ int64_t End(int64_t piece) const {
    return Begin(piece) + length < rows ? Begin(piece) + length : rows;
  }
  __device__ __forceinline__ bool StartsBefore(int64_t piece) const {
    return piece != 0 && sorted[Begin(piece) - 1].key == sorted[Begin(piece)].key;
  }
  __device__ __forceinline__ bool GoesOn(int64_t piece) const {
    return End(piece) < rows && sorted[End(piece) - 1].key == sorted[End(piece)].key;
  }
};

constexpr int kRunThreads = 128;
constexpr int kAhead = 4;  // rows that are asked for before the first of them is used

template <class Kind, int kSize>
__device__ void RunPiece(const Runs<Kind>& runs, int64_t piece, int64_t column) {
  using Part = typename Kind::Part;
  device::Values<Part, kSize> parts;
  const auto flush = [&](uint32_t key, bool is_first, bool is_last) {
    // A run over both ends counts as a first one.
    const bool starts_before = is_first && runs.StartsBefore(piece);
    const bool goes_on = is_last && runs.GoesOn(piece);
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      if (starts_before || goes_on) {
        runs.partial[(2 * piece + (starts_before ? 0 : 1)) * runs.columns + column + i] =
            parts.at[i];
      } else if (key < runs.segments) {
        runs.kind.Put(parts.at[i], key * runs.columns + column + i);
      }
      parts.at[i] = Kind::None();
    }
  };
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    parts.at[i] = Kind::None();
  }
  const int64_t end = runs.End(piece);
  uint32_t key = runs.sorted[runs.Begin(piece)].key;
  bool is_first = true;
  for (int64_t at = runs.Begin(piece); at < end; at += kAhead) {
    Keyed next[kAhead];
    device::Values<typename Kind::Element, kSize> values[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      next[k] = runs.sorted[at + k < end ? at + k : end - 1];
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      values[k] = device::ReadConstant<device::Values<typename Kind::Element, kSize>>(
          runs.x + next[k].row * runs.columns + column);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (at + k < end) {
        if (next[k].key != key) {
          flush(key, is_first, false);
          is_first = false;
          key = next[k].key;
        }
#pragma unroll
        for (int i = 0; i < kSize; ++i) {
          parts.at[i] = Kind::Join(parts.at[i], Kind::Of(values[k].at[i], next[k].row));
        }
      }
    }
  }
  flush(key, is_first, true);
}

template <class Kind, int kSize>
__global__ void __launch_bounds__(kRunThreads) RunPieces(const Runs<Kind> runs) {
  const int64_t piece =
      static_cast<int64_t>(blockIdx.x) * (kRunThreads / runs.team) + threadIdx.x / runs.team;
  const int64_t step = static_cast<int64_t>(gridDim.y) * runs.team * kSize;
  int64_t column = (static_cast<int64_t>(blockIdx.y) * runs.team + threadIdx.x % runs.team) * kSize;
  for (; piece < runs.pieces && column < runs.columns; column += step) {
    RunPiece<Kind, kSize>(runs, piece, column);
  }
}

// A block for each piece whose last run goes on: it joins that with the first runs of the pieces
// that follow, up to the one where it ends.
template <class Kind>
__global__ void __launch_bounds__(kRunThreads) JoinPieces(const Runs<Kind> runs) {
  using Part = typename Kind::Part;
  __shared__ __align__(16) unsigned char room[kRunThreads * sizeof(Part)];
  Part* const parts = reinterpret_cast<Part*>(room);
  const int64_t piece = blockIdx.x;
  const uint32_t key = runs.sorted[runs.End(piece) - 1].key;
  const bool is_all_of_it = runs.sorted[runs.Begin(piece)].key == key;
  if (!runs.GoesOn(piece) || (is_all_of_it && runs.StartsBefore(piece)) || key >= runs.segments) {
    return;  // for all threads of the block
  }
  int64_t last = piece + 1;  // the piece where the run ends
  for (int64_t high = runs.pieces - 1; last < high;) {
    const int64_t middle = last + (high - last) / 2;
    if (runs.sorted[runs.End(middle) - 1].key == key && runs.GoesOn(middle)) {
      last = middle + 1;
    } else {
      high = middle;
    }
  }
  const int lane = threadIdx.x % runs.team, way = threadIdx.x / runs.team;
  const int ways = kRunThreads / runs.team;
  for (int64_t first = static_cast<int64_t>(blockIdx.y) * runs.team; first < runs.columns;
       first += static_cast<int64_t>(gridDim.y) * runs.team) {
    const int64_t column = first + lane;
    Part part = Kind::None();
    if (column < runs.columns) {
      if (way == 0) {
        part = runs.partial[(2 * piece + 1) * runs.columns + column];
      }
#pragma unroll 4
      for (int64_t k = piece + 1 + way; k <= last; k += ways) {
        part = Kind::Join(part, runs.partial[2 * k * runs.columns + column]);
      }
    }
    parts[threadIdx.x] = part;
    __syncthreads();
    if (way == 0 && column < runs.columns) {
      for (int k = 1; k < ways; ++k) {
        part = Kind::Join(part, parts[k * runs.team + lane]);
      }
      runs.kind.Put(part, key * runs.columns + column);
    }
    __syncthreads();
  }
}

// kind.Put(part of its rows, segment * columns + column) for each segment that has rows.
template <class Kind>
void ReduceSegments(const Kind& kind, const typename Kind::Element* x, const int64_t* index,
                    int64_t rows, int64_t columns, int64_t segments, oneop::Call& call) {
  if (rows == 0 || columns == 0 || segments == 0) {
    return;
  }
  using Element = typename Kind::Element;
  constexpr int kSize = kPack<Element>;
  const bool is_packed = ArePacked<16>(columns * int64_t{sizeof(Element)}, x);
  const int64_t packs = is_packed ? columns / kSize : columns;
  int team = 1;
  while (team < kRunThreads && team < packs) {
    team *= 2;
  }
  const int64_t length = std::max<int64_t>(16, std::min<int64_t>(1024, rows / 16384));
  const int64_t pieces = (rows + length - 1) / length;
  const Runs<Kind> runs{x,
                        SortRows(index, rows, segments, call),
                        rows,
                        columns,
                        segments,
                        length,
                        pieces,
                        team,
                        call.scratch<typename Kind::Part>(2 * pieces * columns),
                        kind};
  const auto wide = static_cast<unsigned>(std::min<int64_t>(65535, (packs + team - 1) / team));
  const dim3 grid(device::GridFor(pieces, kRunThreads / team), wide);
  if (is_packed) {
    RunPieces<Kind, kSize><<<grid, kRunThreads, 0, call.cuda_stream()>>>(runs);
  } else {
    RunPieces<Kind, 1><<<grid, kRunThreads, 0, call.cuda_stream()>>>(runs);
  }
  device::CheckLaunch();
  const auto tall = static_cast<unsigned>(std::min<int64_t>(65535, (columns + team - 1) / team));
  JoinPieces<Kind>
      <<<dim3(static_cast<unsigned>(pieces), tall), kRunThreads, 0, call.cuda_stream()>>>(runs);
  device::CheckLaunch();
}

}  // namespace gallery

#endif  // ONEOP_GALLERY_SEGMENT_RUNS_CUH_
