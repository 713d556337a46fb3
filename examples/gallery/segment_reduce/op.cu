// Segments on the GPU. Rows are sorted by their segment first, so that nothing is added by atomics
// and sums have the same bits in every run.
//
// An index outside of [0, segments) cannot be refused here without waiting for the GPU. Nothing
// outside of the tensors is read: such a row belongs to no segment, what segment_gather, the
// gradient of segment_sum, gives for it is NaN, and what segment_max_grad gives is 0.
#include "../segment_runs.cuh"

using namespace oneop;

template <class T>
struct SumKind {
  using Element = T;
  using Part = gallery::Compute<T>;
  T* y;
  __device__ __forceinline__ static Part None() { return 0; }
  __device__ __forceinline__ static Part Of(T value, uint32_t) { return static_cast<Part>(value); }
  __device__ __forceinline__ static Part Join(Part a, Part b) { return a + b; }
  __device__ __forceinline__ void Put(Part part, int64_t at) const { y[at] = static_cast<T>(part); }
};

// The largest value, a NaN before any number, and the first row that has it.
template <class T>
struct MaxKind {
  using Element = T;
  struct Part {
    T value;
    uint32_t row;
  };
  static constexpr uint32_t kNone = 0xffffffffu;
  T* y;
  int64_t* row_of;
  __device__ __forceinline__ static Part None() { return {0, kNone}; }
  __device__ __forceinline__ static Part Of(T value, uint32_t row) { return {value, row}; }
  __device__ __forceinline__ static Part Join(const Part& a, const Part& b) {
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    const bool is_larger = b.value > a.value || (b_is_nan && !a_is_nan);
    const bool is_equal = b.value == a.value || (a_is_nan && b_is_nan);
    const bool is_better =
        a.row == kNone || (b.row != kNone && (is_larger || (is_equal && b.row < a.row)));
    return is_better ? b : a;
  }
  __device__ __forceinline__ void Put(const Part& part, int64_t at) const {
    y[at] = part.value;
    row_of[at] = part.row;
  }
};

template <class T, int kSize>
struct GatherPack {
  using C = gallery::Compute<T>;
  const T* y;
  const int64_t* index;
  T* x;
  int64_t columns, segments;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const auto place = gallery::Divided::OfPack<kSize>(i, columns);
    const int64_t s = index[place.quotient];
    device::Values<C, kSize> values;
    if (s >= 0 && s < segments) {
      values = gallery::Load<kSize, C>(y + s * columns + place.rest);
    } else {
#pragma unroll
      for (int k = 0; k < kSize; ++k) {
        values.at[k] = static_cast<C>(__builtin_nan(""));
      }
    }
    gallery::Store(x + i * kSize, values);
  }
};

template <class T, int kSize>
struct MaxGradPack {
  const int64_t* index;
  const int64_t* row_of;
  const T* dy;
  T* dx;
  int64_t columns, segments;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const auto place = gallery::Divided::OfPack<kSize>(i, columns);
    const int64_t s = index[place.quotient];
    device::Values<T, kSize> values{};
    if (s >= 0 && s < segments) {
      const int64_t at = s * columns + place.rest;
      const auto row = gallery::Load<kSize, int64_t>(row_of + at);
      const auto from = gallery::Load<kSize, T>(dy + at);
#pragma unroll
      for (int k = 0; k < kSize; ++k) {
        values.at[k] = row.at[k] == place.quotient ? from.at[k] : T(0);
      }
    }
    gallery::Store(dx + i * kSize, values);
  }
};

struct SegmentSum {
  template <class T>
  void operator()(View<const T> x, View<const int64_t> index, View<T> y, Attrs, Call& call) const {
    using D = gallery::Stored<T>;
    device::CheckLaunch(cudaMemsetAsync(y.data(), 0, sizeof(T) * static_cast<size_t>(y.numel()),
                                        call.cuda_stream()));
    gallery::ReduceSegments(SumKind<D>{gallery::DataOf(y)}, gallery::DataOf(x), index.data(),
                            x.size(0), x.size(1), y.size(0), call);
  }
};

struct SegmentMax {
  template <class T>
  void operator()(View<const T> x, View<const int64_t> index, View<T> y, View<int64_t> row_of,
                  Attrs, Call& call) const {
    const auto count = static_cast<size_t>(y.numel());
    device::CheckLaunch(cudaMemsetAsync(y.data(), 0, sizeof(T) * count, call.cuda_stream()));
    device::CheckLaunch(
        cudaMemsetAsync(row_of.data(), -1, sizeof(int64_t) * count, call.cuda_stream()));
    gallery::ReduceSegments(MaxKind<T>{y.data(), row_of.data()}, x.data(), index.data(), x.size(0),
                            x.size(1), y.size(0), call);
  }
};

struct SegmentGather {
  template <class T>
  void operator()(View<const T> y, View<const int64_t> index, View<T> x, Attrs, Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t columns = y.size(1), segments = y.size(0);
    const D* from = gallery::DataOf(y);
    D* to = gallery::DataOf(x);
    constexpr int kSize = gallery::kPack<D>;
    if (gallery::ArePacked<16>(columns * int64_t{sizeof(D)}, from, to)) {
      gallery::ForEach(GatherPack<D, kSize>{from, index.data(), to, columns, segments},
                       x.numel() / kSize, call.cuda_stream());
    } else {
      gallery::ForEach(GatherPack<D, 1>{from, index.data(), to, columns, segments}, x.numel(),
                       call.cuda_stream());
    }
  }
};

struct SegmentMaxGrad {
  template <class T>
  void operator()(View<const int64_t> index, View<const int64_t> row_of, View<const T> dy,
                  View<T> dx, Attrs, Call& call) const {
    const int64_t columns = dy.size(1), segments = dy.size(0);
    constexpr int kSize = gallery::kPack<T>;
    if (gallery::ArePacked<16>(columns * int64_t{sizeof(T)}, row_of.data(), dy.data(), dx.data())) {
      gallery::ForEach(MaxGradPack<T, kSize>{index.data(), row_of.data(), dy.data(), dx.data(),
                                             columns, segments},
                       dx.numel() / kSize, call.cuda_stream());
    } else {
      gallery::ForEach(
          MaxGradPack<T, 1>{index.data(), row_of.data(), dy.data(), dx.data(), columns, segments},
          dx.numel(), call.cuda_stream());
    }
  }
};

OP_KERNELS("segment_sum(Tensor x, Tensor index, *, int segments) -> Tensor y")
    .cuda_kernel<float(float, int64_t), double(double, int64_t), half(half, int64_t),
                 bfloat16(bfloat16, int64_t)>(SegmentSum())
    .cuda_graph();
OP_KERNELS("segment_gather(Tensor y, Tensor index, *, int segments) -> Tensor x")
    .cuda_kernel<float(float, int64_t), double(double, int64_t), half(half, int64_t),
                 bfloat16(bfloat16, int64_t)>(SegmentGather())
    .cuda_graph();
OP_KERNELS("segment_max(Tensor x, Tensor index, *, int segments) -> (Tensor y, Tensor row)")
    .cuda_kernel<Outputs<float, int64_t>(float, int64_t),
                 Outputs<double, int64_t>(double, int64_t)>(SegmentMax())
    .cuda_graph();
OP_KERNELS("segment_max_grad(Tensor index, Tensor row, Tensor dy) -> Tensor dx")
    .cuda_kernel<float(int64_t, int64_t, float), double(int64_t, int64_t, double)>(SegmentMaxGrad())
    .cuda_graph();
