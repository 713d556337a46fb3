// The causal convolution on the GPU. Widths 2 to 4 are compiled as they are: a thread has a pack of
// results and the elements around it. Other widths go element by element.
//
// Sums over time are those of a row, in a fixed order, and then added up over the batch.
#include "../numbers.cuh"

using namespace oneop;

template <class T>
struct Conv {
  using C = gallery::Compute<T>;
  const T* x;
  const T* w;
  const T* bias;
  const T* dy;  // of the gradient alone
  T* to;        // y, or dx
  int64_t channels, length, width;
  bool silu;

  // Before the start of a row there are zeros.
  __device__ __forceinline__ C At(const T* row, int64_t t) const {
    return t < 0 ? C(0) : static_cast<C>(row[t]);
  }
  __device__ __forceinline__ static C Sigmoid(C v) {
    return gallery::Sigmoid<gallery::kIsShort<T>>(v);
  }
  __device__ __forceinline__ C Activated(C v) const { return silu ? v * Sigmoid(v) : v; }
  __device__ __forceinline__ C BeforeActivation(C v, C d) const {
    if (!silu) {
      return d;
    }
    const C s = Sigmoid(v);
    return d * s * (1 + v * (1 - s));
  }
};

template <class T, int kSize, int kWidth>
struct ConvPack {
  Conv<T> conv;
  __device__ __forceinline__ void operator()(int64_t i) const {
    using C = gallery::Compute<T>;
    const auto place = gallery::Divided::OfPack<kSize>(i, conv.length);
    const int64_t c = gallery::Divided(place.quotient, conv.channels).rest;
    const T* row = conv.x + place.quotient * conv.length;
    C around[kSize + kWidth - 1], weight[kWidth];
    const auto own = gallery::Load<kSize, C>(row + place.rest);
#pragma unroll
    for (int j = 0; j < kWidth - 1; ++j) {
      around[j] = conv.At(row, place.rest - kWidth + 1 + j);
    }
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      around[kWidth - 1 + k] = own.at[k];
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      weight[j] = static_cast<C>(conv.w[c * kWidth + j]);
    }
    const C start = static_cast<C>(conv.bias[c]);
    device::Values<C, kSize> result;
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      C sum = start;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        sum += weight[j] * around[k + j];
      }
      result.at[k] = conv.Activated(sum);
    }
    gallery::Store(conv.to + i * kSize, result);
  }
};

// What a thread has of the gradients of the weights and the bias.
template <class C, int kWidth>
struct WeightSums {
  C at[kWidth + 1];
};

template <class T, int kSize, int kWidth, class Group>
struct ConvGradRow {
  using C = gallery::Compute<T>;
  static constexpr int kBefore = kWidth - 1;
  const Conv<T>& conv;
  const T* x;
  const T* dy;
  C weight[kWidth], bias;

  // dx of the pack at `t`, and its part of the sums. The gradients before the activation are worked
  // out for kBefore positions after the pack, too: these depend on its last elements.
  __device__ __forceinline__ void Pack(int64_t t, T* dx, WeightSums<C, kWidth>& sums) const {
    C around[kSize + 2 * kBefore], inner[kSize + kBefore];
    const auto own = gallery::Load<kSize, C>(x + t), d = gallery::Load<kSize, C>(dy + t);
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      around[kBefore + k] = own.at[k];
      inner[k] = d.at[k];
    }
#pragma unroll
    for (int k = 0; k < kBefore; ++k) {
      const bool is_there = t + kSize + k < conv.length;
      around[k] = conv.At(x, t - kBefore + k);
      around[kBefore + kSize + k] = is_there ? static_cast<C>(x[t + kSize + k]) : C(0);
      inner[kSize + k] = is_there ? static_cast<C>(dy[t + kSize + k]) : C(0);
    }
#pragma unroll
    for (int k = 0; k < kSize + kBefore; ++k) {
      C v = bias;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        v += weight[j] * around[k + j];
      }
      inner[k] = conv.BeforeActivation(v, inner[k]);
    }
    device::Values<C, kSize> result;
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      C sum = 0;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        // Past the end there is nothing to add; zeros would make NaN of an infinite weight.
        const bool is_there = j == 0 || t + k + j < conv.length;
        sum += is_there ? weight[kBefore - j] * inner[k + j] : C(0);
      }
      result.at[k] = sum;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        sums.at[j] += inner[k] * around[k + j];
      }
      sums.at[kWidth] += inner[k];
    }
    gallery::Store(dx + t, result);
  }
};

// partial: kWidth + 1 sums for each row.
template <class T, int kSize, int kWidth, class Group>
__global__ void __launch_bounds__(256)
    ConvGradRows(const Conv<T> conv, int64_t rows, gallery::Compute<T>* partial) {
  using C = gallery::Compute<T>;
  using Sums = WeightSums<C, kWidth>;
  for (int64_t row = Group::number(); row < rows; row += Group::count()) {
    const int64_t c = gallery::Divided(row, conv.channels).rest;
    ConvGradRow<T, kSize, kWidth, Group> work{
        conv, conv.x + row * conv.length, conv.dy + row * conv.length, {}, C(0)};
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      work.weight[j] = static_cast<C>(conv.w[c * kWidth + j]);
    }
    work.bias = static_cast<C>(conv.bias[c]);
    Sums sums{};
    for (int64_t t = static_cast<int64_t>(Group::rank()) * kSize; t < conv.length;
         t += static_cast<int64_t>(Group::size()) * kSize) {
      work.Pack(t, conv.to + row * conv.length, sums);
    }
    sums = Group::AllReduce(sums, Sums{}, [](const Sums& a, const Sums& b) {
      Sums both;
#pragma unroll
      for (int j = 0; j <= kWidth; ++j) {
        both.at[j] = a.at[j] + b.at[j];
      }
      return both;
    });
    if (Group::rank() == 0) {
#pragma unroll
      for (int j = 0; j <= kWidth; ++j) {
        partial[row * (kWidth + 1) + j] = sums.at[j];
      }
    }
  }
}

// dw and dbias of a channel: the sums of its rows, in the order of the batch.
template <class T>
struct AddBatch {
  using C = gallery::Compute<T>;
  const C* partial;
  T* dw;
  T* dbias;
  int64_t batch, channels, width;
  __device__ __forceinline__ void operator()(int64_t i) const {
    C sum = 0;
#pragma unroll 8
    for (int64_t b = 0; b < batch; ++b) {
      sum += partial[b * channels * (width + 1) + i];
    }
    const gallery::Divided place(i, width + 1);
    (place.rest == width ? dbias[place.quotient] : dw[place.quotient * width + place.rest]) =
        static_cast<T>(sum);
  }
};

#include "any_width.cuh"

struct CausalConv1d {
  template <class T>
  void operator()(View<const T, 3> x, View<const T, 2> w, View<const T, 1> bias, View<T, 3> y,
                  Attrs attrs, Call& call) const {
    using D = gallery::Stored<T>;
    const Conv<D> conv{gallery::DataOf(x),
                       gallery::DataOf(w),
                       gallery::DataOf(bias),
                       nullptr,
                       gallery::DataOf(y),
                       x.size(1),
                       x.size(2),
                       w.size(1),
                       attrs.get<bool>("silu")};
    const bool is_packed = gallery::ArePacked<16>(x.size(2) * int64_t{sizeof(D)}, conv.x, conv.to);
    switch (conv.width) {
      case 2:
        return Run<D, 2>(conv, x.numel(), is_packed, call.cuda_stream());
      case 3:
        return Run<D, 3>(conv, x.numel(), is_packed, call.cuda_stream());
      case 4:
        return Run<D, 4>(conv, x.numel(), is_packed, call.cuda_stream());
      default:
        gallery::ForEach(AnyWidth<D>{conv}, x.numel(), call.cuda_stream());
    }
  }

 private:
  template <class D, int kWidth>
  static void Run(const Conv<D>& conv, int64_t count, bool is_packed, cudaStream_t stream) {
    constexpr int kSize = gallery::kPack<D>;
    if (is_packed) {
      gallery::ForEach(ConvPack<D, kSize, kWidth>{conv}, count / kSize, stream);
    } else {
      gallery::ForEach(ConvPack<D, 1, kWidth>{conv}, count, stream);
    }
  }
};

struct CausalConv1dGrad {
  template <class T>
  void operator()(View<const T, 3> x, View<const T, 2> w, View<const T, 1> bias,
                  View<const T, 3> dy, View<T, 3> dx, View<T, 2> dw, View<T, 1> dbias, Attrs attrs,
                  Call& call) const {
    using D = gallery::Stored<T>;
    const Conv<D> conv{gallery::DataOf(x),  gallery::DataOf(w),  gallery::DataOf(bias),
                       gallery::DataOf(dy), gallery::DataOf(dx), x.size(1),
                       x.size(2),           w.size(1),           attrs.get<bool>("silu")};
    const bool is_packed =
        gallery::ArePacked<16>(x.size(2) * int64_t{sizeof(D)}, conv.x, conv.dy, conv.to);
    const int64_t batch = x.size(0);
    D *to = gallery::DataOf(dw), *to_bias = gallery::DataOf(dbias);
    switch (conv.width) {
      case 2:
        return Run<D, 2>(conv, batch, is_packed, to, to_bias, call);
      case 3:
        return Run<D, 3>(conv, batch, is_packed, to, to_bias, call);
      case 4:
        return Run<D, 4>(conv, batch, is_packed, to, to_bias, call);
      default:
        return AnyWidthGrad<D>(conv, batch, to, to_bias, call);
    }
  }

 private:
  template <class D, int kWidth>
  static void Run(const Conv<D>& conv, int64_t batch, bool is_packed, D* dw, D* dbias, Call& call) {
    using C = gallery::Compute<D>;
    constexpr int kSize = gallery::kPack<D>;
    const int64_t rows = batch * conv.channels;
    C* partial = call.scratch<C>(rows * (kWidth + 1));
    if (rows > 0 && is_packed) {
      RunRows<D, kSize, kWidth>(conv, rows, conv.length / kSize, partial, call.cuda_stream());
    } else if (rows > 0) {
      RunRows<D, 1, kWidth>(conv, rows, conv.length, partial, call.cuda_stream());
    }
    gallery::ForEach(AddBatch<D>{partial, dw, dbias, batch, conv.channels, kWidth},
                     conv.channels * (kWidth + 1), call.cuda_stream());
  }
  template <class D, int kSize, int kWidth>
  static void RunRows(const Conv<D>& conv, int64_t rows, int64_t packs,
                      gallery::Compute<D>* partial, cudaStream_t stream) {
    if (packs <= 128) {
      ConvGradRows<D, kSize, kWidth, device::WarpGroup>
          <<<device::GridFor(rows, 4), 128, 0, stream>>>(conv, rows, partial);
    } else {
      ConvGradRows<D, kSize, kWidth, device::BlockGroup>
          <<<device::GridFor(rows, 1), std::min(256, device::WholeWarps(packs)), 0, stream>>>(
              conv, rows, partial);
    }
    device::CheckLaunch();
  }
};

OP_KERNELS("causal_conv1d(Tensor x, Tensor w, Tensor bias, *, bool silu=False) -> Tensor y")
    .cuda_kernel<float, double, half, bfloat16>(CausalConv1d())
    .cuda_graph();
OP_KERNELS(
    "causal_conv1d_grad(Tensor x, Tensor w, Tensor bias, Tensor dy, *, bool silu)"
    " -> (Tensor dx, Tensor dw, Tensor dbias)")
    .cuda_kernel<float, double, half, bfloat16>(CausalConv1dGrad())
    .cuda_graph();
