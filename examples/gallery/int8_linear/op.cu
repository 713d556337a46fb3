// The int8 linear layer on the GPU: rows of x are rounded to int8 in scratch memory, and multiplied
// with w on the tensor cores. Sums are whole numbers, so their order does not matter.
#include "tiles.cuh"

using namespace oneop;

constexpr int64_t kFull = 132;  // tiles that keep a GPU busy; with fewer the depth is shared too

// A row of x as int8, and its step, as in op.cpp; zeros up to `row_bytes`.
template <class T, class S>
__global__ void __launch_bounds__(S::kMost)
    Quantise(const T* x, int64_t m, int64_t k, int64_t row_bytes, int8_t* to, float* steps) {
  using Row = device::Row<const T, float, typename S::Group, S::kSize, S::kPacks>;
  using N = Number<float>;
  for (int64_t number = S::Group::number(); number < m; number += S::Group::count()) {
    const Row row(x + number * k, k);
    int8_t* const own = to + number * row_bytes;
    N largest(0);
    walk([&](int64_t, N v) { largest = max(largest, abs(v)); }, row);
    largest = joined(row, largest, N(0), [](N a, N b) { return max(a, b); });
    const float step = largest.value / 127.0f;
    const bool is_finite = largest.value < INFINITY;
    const bool is_zero = !is_finite || step < 1e-37f;  // too small to divide by
    device::ForPacks(
        [&](int p, int64_t at) {
          const auto values = row.Load(p, at);
          device::Values<int8_t, S::kSize> rounded;
#pragma unroll
          for (int i = 0; i < S::kSize; ++i) {
            rounded.at[i] = static_cast<int8_t>(
                is_zero ? 0 : static_cast<int>(rintf(values.at[i].value / step)));
          }
          gallery::Store(own + at, rounded);
        },
        row);
    for (int64_t i = k + S::Group::rank(); i < row_bytes; i += S::Group::size()) {
      own[i] = 0;
    }
    if (S::Group::rank() == 0) {
      steps[number] = !is_finite ? NAN : is_zero ? 0.0f : step;
    }
  }
}
template <class T>
struct QuantiseLauncher {
  const T* x;
  int64_t m, k, row_bytes;
  int8_t* to;
  float* steps;
  cudaStream_t stream;
  template <class S>
  void operator()(S, unsigned blocks, int threads) const {
    Quantise<T, S><<<blocks, threads, 0, stream>>>(x, m, k, row_bytes, to, steps);
    device::CheckLaunch();
  }
};

// Rows of w that start at multiples of 16 bytes.
struct Realign {
  const int8_t* from;
  int8_t* to;
  int64_t k, step;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const gallery::Divided place(i, step);
    to[i] = place.rest < k ? from[place.quotient * k + place.rest] : int8_t(0);
  }
};

template <class S, class T>
__global__ void __launch_bounds__(S::kThreads)
    Products(const tiles::Operands all, int64_t pieces, const float* steps, const float* scale,
             T* y) {
  tiles::Run<S>(all, 0, pieces, [&](int64_t row, int64_t column, int32_t sum) {
    y[row * all.n + column] =
        static_cast<T>(static_cast<float>(sum) * (steps[row] * scale[column]));
  });
}
// A part of the depth for each blockIdx.y; its sums are added to those of the others.
template <class S>
__global__ void __launch_bounds__(S::kThreads)
    PartsOfProducts(const tiles::Operands all, int64_t pieces, int32_t* sums) {
  const int64_t first = pieces * blockIdx.y / gridDim.y;
  const int64_t last = pieces * (blockIdx.y + 1) / gridDim.y;
  tiles::Run<S>(all, first, last, [&](int64_t row, int64_t column, int32_t sum) {
    atomicAdd(sums + row * all.n + column, sum);
  });
}
template <class T>
struct Scale {
  const int32_t* sums;
  const float* steps;
  const float* scale;
  T* y;
  int64_t n;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const gallery::Divided place(i, n);
    y[i] =
        static_cast<T>(static_cast<float>(sums[i]) * (steps[place.quotient] * scale[place.rest]));
  }
};

struct Int8Linear {
  template <class T>
  void operator()(View<const T> x, View<const int8_t> w, View<const float> scale, View<T> y, Attrs,
                  Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t m = x.size(0), k = x.size(1), n = w.size(0);
    if (m == 0 || n == 0) {
      return;
    }
    const int64_t pieces = (k + tiles::kDepth - 1) / tiles::kDepth, x_step = pieces * tiles::kDepth;
    int8_t* quantised = call.scratch<int8_t>(m * x_step + 16);
    float* steps = call.scratch<float>(m);
    device::ForSpread<gallery::kPack<D>>(m, k,
                                         gallery::ArePacked<16>(k * int64_t{sizeof(D)}, x.data()),
                                         QuantiseLauncher<D>{gallery::DataOf(x), m, k, x_step,
                                                             quantised, steps, call.cuda_stream()});
    tiles::Operands all{quantised, w.data(), m, n, x_step, k};
    if (!gallery::ArePacked<16>(k, w.data())) {
      all.w_step = (k + 15) / 16 * 16;
      int8_t* aligned = call.scratch<int8_t>(n * all.w_step);
      gallery::ForEach(Realign{w.data(), aligned, k, all.w_step}, n * all.w_step,
                       call.cuda_stream());
      all.w = aligned;
    }
    if (m > 64) {
      Multiply<tiles::Shape<2, 4, 4, 4>, D>(all, pieces, steps, scale.data(), gallery::DataOf(y),
                                            call);
    } else {
      Multiply<tiles::Shape<1, 4, 4, 2>, D>(all, pieces, steps, scale.data(), gallery::DataOf(y),
                                            call);
    }
  }

 private:
  template <class S, class D>
  static void Multiply(const tiles::Operands& all, int64_t pieces, const float* steps,
                       const float* scale, D* y, Call& call) {
    const int64_t count = tiles::Count<S>(all);  // fewer than 2^31: y is in the GPU's memory
    const int64_t parts =
        std::max<int64_t>(1, std::min(pieces / 4, 2 * kFull / std::max<int64_t>(1, count)));
    const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(parts));
    if (parts == 1) {
      const auto kernel = &Products<S, D>;
      Allow(kernel, S::kShared);
      kernel<<<grid, S::kThreads, S::kShared, call.cuda_stream()>>>(all, pieces, steps, scale, y);
    } else {
      auto* sums = call.scratch<int32_t>(all.m * all.n);
      device::CheckLaunch(cudaMemsetAsync(
          sums, 0, sizeof(int32_t) * static_cast<size_t>(all.m * all.n), call.cuda_stream()));
      const auto kernel = &PartsOfProducts<S>;
      Allow(kernel, S::kShared);
      kernel<<<grid, S::kThreads, S::kShared, call.cuda_stream()>>>(all, pieces, sums);
      gallery::ForEach(Scale<D>{sums, steps, scale, y, all.n}, all.m * all.n, call.cuda_stream());
    }
    device::CheckLaunch();
  }
  template <class K>
  static void Allow(K kernel, int bytes) {
    device::CheckLaunch(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  }
};

OP_KERNELS("int8_linear(Tensor x, Tensor w, Tensor scale) -> Tensor y")
    .cuda_kernel<float(float, int8_t, float), half(half, int8_t, float),
                 bfloat16(bfloat16, int8_t, float)>(Int8Linear())
    .cuda_graph();
