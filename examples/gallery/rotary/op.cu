// Rotary embedding on the GPU: a thread for each pack of pairs. Heads of one position are
// neighbours, so that its angles are in the cache.
#include "../numbers.cuh"

using namespace oneop;

// Pairs (i, i + d/2): kSize of them from two packs.
template <class T, class C, int kSize>
struct TurnHalves {
  const T* x;
  const C* cosine;
  const C* sine;
  T* y;
  int64_t half_d, heads, length;
  C sign;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const auto row = gallery::Divided::OfPack<kSize>(i, half_d);  // of one head at one position
    const int64_t position =
        gallery::Divided(gallery::Divided(row.quotient, heads).quotient, length).rest;
    const int64_t at = row.quotient * 2 * half_d + row.rest;
    const int64_t angle = position * half_d + row.rest;
    const auto a = gallery::Load<kSize, C>(x + at), b = gallery::Load<kSize, C>(x + at + half_d);
    const auto c = gallery::Load<kSize, C>(cosine + angle);
    const auto s = gallery::Load<kSize, C>(sine + angle);
    device::Values<C, kSize> first, second;
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      const C turn = sign * s.at[k];
      first.at[k] = a.at[k] * c.at[k] - b.at[k] * turn;
      second.at[k] = b.at[k] * c.at[k] + a.at[k] * turn;
    }
    gallery::Store(y + at, first);
    gallery::Store(y + at + half_d, second);
  }
};

// Pairs (2 i, 2 i + 1): kSize of them from 2 * kSize neighbours.
template <class T, class C, int kSize>
struct TurnPairs {
  const T* x;
  const C* cosine;
  const C* sine;
  T* y;
  int64_t half_d, heads, length;
  C sign;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const auto row = gallery::Divided::OfPack<kSize>(i, half_d);
    const int64_t position =
        gallery::Divided(gallery::Divided(row.quotient, heads).quotient, length).rest;
    const int64_t angle = position * half_d + row.rest;
    device::Values<C, 2 * kSize> v;
    if constexpr (kSize > 1) {
      v = gallery::Load<2 * kSize, C>(x + 2 * i * kSize);
    } else {  // a row may start anywhere
      v.at[0] = static_cast<C>(x[2 * i]);
      v.at[1] = static_cast<C>(x[2 * i + 1]);
    }
    const auto c = gallery::Load<kSize, C>(cosine + angle);
    const auto s = gallery::Load<kSize, C>(sine + angle);
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      const C turn = sign * s.at[k], a = v.at[2 * k], b = v.at[2 * k + 1];
      v.at[2 * k] = a * c.at[k] - b * turn;
      v.at[2 * k + 1] = b * c.at[k] + a * turn;
    }
    if constexpr (kSize > 1) {
      gallery::Store(y + 2 * i * kSize, v);
    } else {
      y[2 * i] = static_cast<T>(v.at[0]);
      y[2 * i + 1] = static_cast<T>(v.at[1]);
    }
  }
};

template <int kSign>
struct Rotary {
  template <class T, class C>
  void operator()(View<const T> x, View<const C> cosine, View<const C> sine, View<T> y, Attrs attrs,
                  Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t half_d = x.size(3) / 2;
    // Packs of angles are of as many elements, and may be larger.
    constexpr int kHalves = gallery::kPack<D>, kPairs = gallery::kPack<D> / 2;
    const int64_t bytes = half_d * int64_t{sizeof(D)};
    const bool are_packed =
        gallery::ArePacked<16>(16, x.data(), cosine.data(), sine.data(), y.data());
    if (!attrs.get<bool>("interleaved")) {
      Launch<TurnHalves, kHalves>(are_packed && bytes % 16 == 0, x, cosine, sine, y, call);
    } else if constexpr (kPairs > 1) {
      Launch<TurnPairs, kPairs>(
          are_packed && bytes % 8 == 0 && half_d * int64_t{sizeof(C)} % 16 == 0, x, cosine, sine, y,
          call);
    } else {  // of double a pair fills a pack
      Launch<TurnPairs, 1>(false, x, cosine, sine, y, call);
    }
  }

 private:
  template <template <class, class, int> class Turn, int kSize, class T, class C>
  static void Launch(bool is_packed, const View<const T>& x, const View<const C>& cosine,
                     const View<const C>& sine, const View<T>& y, Call& call) {
    using D = gallery::Stored<T>;
    const int64_t half_d = x.size(3) / 2, heads = x.size(2), length = x.size(1);
    if (is_packed) {
      gallery::ForEach(Turn<D, C, kSize>{gallery::DataOf(x), cosine.data(), sine.data(),
                                         gallery::DataOf(y), half_d, heads, length, C(kSign)},
                       x.numel() / 2 / kSize, call.cuda_stream());
    } else {
      gallery::ForEach(Turn<D, C, 1>{gallery::DataOf(x), cosine.data(), sine.data(),
                                     gallery::DataOf(y), half_d, heads, length, C(kSign)},
                       x.numel() / 2, call.cuda_stream());
    }
  }
};

OP_KERNELS("rotary(Tensor x, Tensor cosine, Tensor sine, *, bool interleaved=False) -> Tensor y")
    .cuda_kernel<float, double, half(half, float, float), bfloat16(bfloat16, float, float)>(
        Rotary<1>())
    .cuda_graph();
OP_KERNELS(
    "rotary_back(Tensor x, Tensor cosine, Tensor sine, *, bool interleaved=False) -> Tensor y")
    .cuda_kernel<float, double, half(half, float, float), bfloat16(bfloat16, float, float)>(
        Rotary<-1>())
    .cuda_graph();
