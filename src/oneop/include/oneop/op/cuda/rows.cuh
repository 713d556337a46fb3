// A functor of rows as a CUDA kernel: a warp or a block for each row of the first input.
#ifndef ONEOP_OP_CUDA_ROWS_CUH_
#define ONEOP_OP_CUDA_ROWS_CUH_

#include "oneop/op/cuda/elementwise.cuh"
#include "oneop/op/cuda/row.cuh"
#include "oneop/op/rows.h"

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
// a block one of 2 packs (4 of single elements) for each of at most 1024; longer rows stay in
// memory, and a block goes through them as often as it is told to. kMost: threads of a block, which
// bounds the registers of a thread.
constexpr int kWarpBlock = 128;  // threads of a block whose warps have a row each
constexpr int kMostThreads = 1024;

template <class Threads, int kElements, int kPacksOfThread, int kMostOfBlock>
struct Spread {
  using Group = Threads;
  static constexpr int kSize = kElements;
  static constexpr int kPacks = kPacksOfThread;
  static constexpr int kMost = kMostOfBlock;
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

template <int kSize, class F>
void ForSpreadOf(int64_t rows, int64_t length, const F& fn) {
  constexpr int kPacks = kSize == 1 ? 4 : 2;  // of a thread of a block
  const int64_t packs = length / kSize;
  const int threads =
      WholeWarps(packs > kPacks * kMostThreads ? kMostThreads : (packs + kPacks - 1) / kPacks);
  const unsigned by_warps = GridFor(rows, kWarpBlock / kWarp);
  if (packs <= kWarp) {
    fn(Spread<WarpGroup, kSize, 1, kWarpBlock>(), by_warps, kWarpBlock);
  } else if (packs <= 4 * kWarp) {
    fn(Spread<WarpGroup, kSize, 4, kWarpBlock>(), by_warps, kWarpBlock);
  } else if (kSize > 1 && packs <= kPacks * kMostThreads / 2) {
    fn(Spread<BlockGroup, kSize, kPacks, kSize == 1 ? kMostThreads : kMostThreads / 2>(),
       GridFor(rows, 1), threads);
  } else if (packs <= kPacks * kMostThreads) {
    fn(Spread<BlockGroup, kSize, kPacks, kMostThreads>(), GridFor(rows, 1), threads);
  } else {
    fn(LongSpread<kSize>(), GridFor(rows, 1), kMostThreads / 2);
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

}  // namespace device

namespace op {

// The rows of one tensor, as they travel to the GPU.
template <class T>
struct DeviceRows {
  T* data;
  int64_t length, step;
};

// The elements of a pack are as many for all tensors of an op: those of the first input fill 16
// bytes.
template <class... T>
constexpr int kRowPack = 1;
template <class First, class... Rest>
constexpr int kRowPack<First, Rest...> = sizeof(First) > 16 ? 1 : 16 / sizeof(First);

template <class F, class Outs, class Ins, class Readers>
struct CudaRowsWork;
template <class F, class... R, class... A, class... V>
struct CudaRowsWork<F, Types<R...>, Types<A...>, Types<V...>> {
  using Kept = typename RowsWork<F, Types<R...>, Types<A...>, Types<V...>>::Kept;
  static constexpr bool kHasTypes = true;
  static constexpr int kSize = kRowPack<ReadOnDevice<A>...>;
  template <class T, class S>
  using Input =
      device::Row<const ReadOnDevice<T>, ComputeType<T>, typename S::Group, S::kSize, S::kPacks>;
  template <class T, class S>
  using Output = device::Row<OnDevice<T>, ComputeType<T>, typename S::Group, S::kSize, S::kPacks>;
  using Sample = device::LongSpread<kSize>;
  static constexpr bool kFits =
      std::is_invocable_v<const F&, Input<A, Sample>..., Output<R, Sample>..., typename V::type...>;

  struct Arguments {
    F functor;
    int64_t rows;
    Packed<DeviceRows<const ReadOnDevice<A>>...> ins;
    Packed<DeviceRows<OnDevice<R>>...> outs;
    Packed<typename V::type...> attrs;
  };

  static void Run(const Kept& kept, oneop_frame* frame) {
    RowLayout layouts[kNumTensors];
    int64_t longest = 0;
    for (int32_t i = 0; i != kNumTensors; ++i) {
      layouts[i] = LayoutOf(frame, kept.op->axes, i);
      longest = layouts[i].length > longest ? layouts[i].length : longest;
    }
    const oneop_tensor& first = *sdk::TensorAt(frame, 0);
    int64_t rows = 1;
    for (int32_t i = 0; i + 1 < first.ndim; ++i) {
      rows *= first.shape[i];
    }
    if (rows != 0) {
      const Arguments arguments =
          Bind(kept.functor, rows, frame, layouts, std::index_sequence_for<A...>(),
               std::index_sequence_for<R...>(), std::index_sequence_for<V...>());
      Launch(arguments, longest, ArePacked(layouts), static_cast<cudaStream_t>(frame->stream));
    }
  }

  // One row, by the threads of one group.
  template <class S>
  __device__ __forceinline__ static void RunRow(const Arguments& arguments, int64_t row) {
    TakeInputs<S>(arguments, row, arguments.ins, Types<A...>());
  }

 private:
  static constexpr int32_t kNumInputs = sizeof...(A);
  static constexpr int32_t kNumTensors = sizeof...(A) + sizeof...(R);

  template <size_t... I, size_t... O, size_t... K>
  static Arguments Bind(const F& functor, int64_t rows, const oneop_frame* frame,
                        const RowLayout* layouts, std::index_sequence<I...>,
                        std::index_sequence<O...>, std::index_sequence<K...>) {
    return {functor, rows,
            Pack(DeviceRows<const ReadOnDevice<A>>{
                reinterpret_cast<const ReadOnDevice<A>*>(layouts[I].data), layouts[I].length,
                layouts[I].step}...),
            Pack(DeviceRows<OnDevice<R>>{
                reinterpret_cast<OnDevice<R>*>(layouts[kNumInputs + O].data),
                layouts[kNumInputs + O].length, layouts[kNumInputs + O].step}...),
            Pack(V::Read(*sdk::Element(frame->attrs, frame->attr_size, K))...)};
  }
  // Rows of one element, which functors read as x[0], need not start at packs.
  static bool ArePacked(const RowLayout* layouts) {
    const int64_t sizes[] = {sizeof(ReadOnDevice<A>)..., sizeof(OnDevice<R>)...};
    bool are_packed = true;
    for (int32_t i = 0; i != kNumTensors; ++i) {
      const RowLayout& rows = layouts[i];
      are_packed =
          are_packed &&
          (rows.length == 1 || (rows.length % kSize == 0 &&
                                reinterpret_cast<uintptr_t>(rows.data) % (sizes[i] * kSize) == 0));
    }
    return are_packed && layouts[0].length != 1;
  }
  static void Launch(const Arguments& arguments, int64_t longest, bool are_packed,
                     cudaStream_t stream);

  // Rows one after the other, and then the attributes: a pack at a time, since the arguments of a
  // kernel travel in nested structs.
  template <class S, class... Rows>
  __device__ __forceinline__ static void TakeInputs(const Arguments& arguments, int64_t row,
                                                    const Packed<>&, Types<>, Rows... rows) {
    TakeOutputs<S>(arguments, row, arguments.outs, Types<R...>(), rows...);
  }
  template <class S, class First, class... Rest, class T, class... Others, class... Rows>
  __device__ __forceinline__ static void TakeInputs(const Arguments& arguments, int64_t row,
                                                    const Packed<First, Rest...>& packed,
                                                    Types<T, Others...>, Rows... rows) {
    const Input<T, S> next(packed.first.data + row * packed.first.step, packed.first.length);
    TakeInputs<S>(arguments, row, packed.rest, Types<Others...>(), rows..., next);
  }
  template <class S, class... Rows>
  __device__ __forceinline__ static void TakeOutputs(const Arguments& arguments, int64_t,
                                                     const Packed<>&, Types<>, Rows... rows) {
    TakeAttrs(arguments.functor, arguments.attrs, rows...);
  }
  template <class S, class First, class... Rest, class T, class... Others, class... Rows>
  __device__ __forceinline__ static void TakeOutputs(const Arguments& arguments, int64_t row,
                                                     const Packed<First, Rest...>& packed,
                                                     Types<T, Others...>, Rows... rows) {
    const Output<T, S> next(packed.first.data + row * packed.first.step, packed.first.length);
    TakeOutputs<S>(arguments, row, packed.rest, Types<Others...>(), rows..., next);
  }
  template <class... Args>
  __device__ __forceinline__ static void TakeAttrs(const F& functor, const Packed<>&,
                                                   Args... args) {
    functor(args...);
  }
  template <class First, class... Rest, class... Args>
  __device__ __forceinline__ static void TakeAttrs(const F& functor,
                                                   const Packed<First, Rest...>& packed,
                                                   Args... args) {
    TakeAttrs(functor, packed.rest, args..., packed.first);
  }
};

template <class Work, class S>
__global__ void __launch_bounds__(S::kMost) RunRows(const typename Work::Arguments arguments) {
  for (int64_t row = S::Group::number(); row < arguments.rows; row += S::Group::count()) {
    Work::template RunRow<S>(arguments, row);
  }
}

// No lambda: nvcc loses parameter packs that are expanded in one.
template <class Work>
struct RowsLauncher {
  const typename Work::Arguments& arguments;
  cudaStream_t stream;
  template <class S>
  void operator()(S, unsigned blocks, int threads) const {
    RunRows<Work, S><<<blocks, threads, 0, stream>>>(arguments);
    device::CheckLaunch();
  }
};
template <class F, class... R, class... A, class... V>
void CudaRowsWork<F, Types<R...>, Types<A...>, Types<V...>>::Launch(const Arguments& arguments,
                                                                    int64_t longest,
                                                                    bool are_packed,
                                                                    cudaStream_t stream) {
  device::ForSpread<kSize>(arguments.rows, longest, are_packed,
                           RowsLauncher<CudaRowsWork>{arguments, stream});
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_CUDA_ROWS_CUH_
