// SwiGLU on the GPU: a thread for each pack of results, with the packs of the gate and the values.
#include "../numbers.cuh"

using namespace oneop;

template <class T, int kSize>
struct SwigluPack {
  using C = gallery::Compute<T>;
  const T* x;
  T* y;
  int64_t n;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const auto place = gallery::Divided::OfPack<kSize>(i, n);
    const T* gate = x + place.quotient * 2 * n + place.rest;
    const auto g = gallery::Load<kSize, C>(gate), v = gallery::Load<kSize, C>(gate + n);
    device::Values<C, kSize> result;
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      result.at[k] = g.at[k] * gallery::Sigmoid<gallery::kIsShort<T>>(g.at[k]) * v.at[k];
    }
    gallery::Store(y + i * kSize, result);
  }
};

template <class T, int kSize>
struct SwigluGradPack {
  using C = gallery::Compute<T>;
  const T* x;
  const T* dy;
  T* dx;
  int64_t n;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const auto place = gallery::Divided::OfPack<kSize>(i, n);
    const int64_t at = place.quotient * 2 * n + place.rest;
    const auto g = gallery::Load<kSize, C>(x + at), v = gallery::Load<kSize, C>(x + at + n);
    const auto d = gallery::Load<kSize, C>(dy + i * kSize);
    device::Values<C, kSize> of_gate, of_value;
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      const C s = gallery::Sigmoid<gallery::kIsShort<T>>(g.at[k]);
      of_gate.at[k] = d.at[k] * v.at[k] * s * (1 + g.at[k] * (1 - s));
      of_value.at[k] = d.at[k] * g.at[k] * s;
    }
    gallery::Store(dx + at, of_gate);
    gallery::Store(dx + at + n, of_value);
  }
};

struct Swiglu {
  template <class T>
  void operator()(View<const T> x, View<T> y, Attrs, Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t n = y.size(-1);
    const D* from = gallery::DataOf(x);
    D* to = gallery::DataOf(y);
    constexpr int kSize = gallery::kPack<D>;
    if (gallery::ArePacked<16>(n * int64_t{sizeof(D)}, from, to)) {
      gallery::ForEach(SwigluPack<D, kSize>{from, to, n}, y.numel() / kSize, call.cuda_stream());
    } else {
      gallery::ForEach(SwigluPack<D, 1>{from, to, n}, y.numel(), call.cuda_stream());
    }
  }
};

struct SwigluGrad {
  template <class T>
  void operator()(View<const T> x, View<const T> dy, View<T> dx, Attrs, Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t n = dy.size(-1);
    if (x.size(-1) != 2 * n) {
      op::Refuse({"expected dy with half the columns of x"});
    }
    const D *from = gallery::DataOf(x), *with = gallery::DataOf(dy);
    D* to = gallery::DataOf(dx);
    constexpr int kSize = gallery::kPack<D>;
    if (gallery::ArePacked<16>(n * int64_t{sizeof(D)}, from, with, to)) {
      gallery::ForEach(SwigluGradPack<D, kSize>{from, with, to, n}, dy.numel() / kSize,
                       call.cuda_stream());
    } else {
      gallery::ForEach(SwigluGradPack<D, 1>{from, with, to, n}, dy.numel(), call.cuda_stream());
    }
  }
};

OP_KERNELS("swiglu(Tensor x) -> Tensor y")
    .cuda_kernel<float, double, half, bfloat16>(Swiglu())
    .cuda_graph();
OP_KERNELS("swiglu_grad(Tensor x, Tensor dy) -> Tensor dx")
    .cuda_kernel<float, double, half, bfloat16>(SwigluGrad())
    .cuda_graph();
