// A functor of rows as a CUDA kernel: a warp or a block for each row of the first input.
#ifndef ONEOP_OP_CUDA_ROWS_CUH_
#define ONEOP_OP_CUDA_ROWS_CUH_

#include "oneop/op/cuda/elementwise.cuh"
#include "oneop/op/cuda/spread.cuh"
#include "oneop/op/rows.h"

namespace oneop ONEOP_HIDDEN {
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
  using Inputs = Types<A...>;
  static constexpr int32_t kNumInputs = sizeof...(A);
  static constexpr int32_t kNumTensors = sizeof...(A) + sizeof...(R);
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

  // What a group will read next. Rows that all rows share, those of weights, are in the cache.
  template <class S>
  __device__ __forceinline__ static void FetchRow(int64_t, const Packed<>&, Types<>) {}
  template <class S, class First, class... Rest, class T, class... Others>
  __device__ __forceinline__ static void FetchRow(int64_t row, const Packed<First, Rest...>& packed,
                                                  Types<T, Others...>) {
    if (packed.first.step != 0) {
      device::Fetch<Input<T, S>>(packed.first.data + row * packed.first.step, packed.first.length);
    }
    FetchRow<S>(row, packed.rest, Types<Others...>());
  }

  // One row, by the threads of one group.
  template <class S>
  __device__ __forceinline__ static void RunRow(const Arguments& arguments, int64_t row) {
    TakeInputs<S>(arguments, row, arguments.ins, Types<A...>());
  }

 private:
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

// A group has every so-many-th row, and asks for the next one before it works on one.
template <class Work, class S>
__global__ void __launch_bounds__(S::kMost, S::MinBlocks(Work::kNumTensors))
    RunRows(const typename Work::Arguments arguments) {
  for (int64_t row = S::Group::number(); row < arguments.rows; row += S::Group::count()) {
    if (S::kPacks != 0 && row + S::Group::count() < arguments.rows) {
      Work::template FetchRow<S>(row + S::Group::count(), arguments.ins, typename Work::Inputs());
    }
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
    static std::atomic<uint64_t> last{0};
    const auto kernel = &RunRows<Work, S>;
    // Rows that stay in memory are not fetched before: a block for each spreads them best.
    const unsigned most = S::kPacks == 0 ? blocks : device::BlocksAtOnce(kernel, threads, &last);
    const unsigned grid = blocks < most ? blocks : most;
    kernel<<<grid, threads, 0, stream>>>(arguments);
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
