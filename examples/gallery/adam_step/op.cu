// A step of AdamW on the GPU: a thread for each pack of the parameter, its gradient and moments.
#include <cmath>

#include "../numbers.cuh"

using namespace oneop;

template <class M>
struct Rates {
  M rate, spread, decay, eps, keep1, take1, keep2, take2;
};

template <class P, class M, int kSize>
struct AdamPack {
  P* p;
  const P* g;
  M* m;
  M* v;
  Rates<M> rates;

  __device__ __forceinline__ void operator()(int64_t i) const {
    const int64_t at = i * kSize;
    auto param = gallery::LoadChanged<kSize, M>(p + at);
    const auto grad = gallery::LoadChanged<kSize, M>(g + at);
    auto first = gallery::LoadChanged<kSize, M>(m + at);
    auto second = gallery::LoadChanged<kSize, M>(v + at);
#pragma unroll
    for (int k = 0; k < kSize; ++k) {
      const M d = grad.at[k];
      first.at[k] = rates.keep1 * first.at[k] + rates.take1 * d;
      second.at[k] = rates.keep2 * second.at[k] + rates.take2 * d * d;
      const M root = sqrt(second.at[k]) * rates.spread + rates.eps;
      param.at[k] = param.at[k] * rates.decay - rates.rate * first.at[k] / root;
    }
    gallery::Store(m + at, first);
    gallery::Store(v + at, second);
    gallery::Store(p + at, param);
  }
};

struct AdamStep {
  template <class P, class M>
  void operator()(View<P> p, View<const P> g, View<M> m, View<M> v, Attrs attrs, Call& call) const {
    using D = gallery::Stored<P>;
    const double step = static_cast<double>(attrs.get<int64_t>("step"));
    const double beta1 = attrs.get<double>("beta1"), beta2 = attrs.get<double>("beta2");
    const double lr = attrs.get<double>("lr");
    const Rates<M> rates{static_cast<M>(lr / (1 - std::pow(beta1, step))),
                         static_cast<M>(1 / std::sqrt(1 - std::pow(beta2, step))),
                         static_cast<M>(1 - lr * attrs.get<double>("weight_decay")),
                         static_cast<M>(attrs.get<double>("eps")),
                         static_cast<M>(beta1),
                         static_cast<M>(1 - beta1),
                         static_cast<M>(beta2),
                         static_cast<M>(1 - beta2)};
    D* to = gallery::DataOf(p);
    const D* from = gallery::DataOf(g);
    // Whole packs, and then what is left of them, element by element.
    constexpr int kSize = gallery::kPack<M>;
    const bool are_packed = gallery::ArePacked<16>(0, m.data(), v.data()) &&
                            gallery::ArePacked<kSize* int{sizeof(D)}>(0, to, from);
    const int64_t packs = are_packed ? p.numel() / kSize : 0, done = packs * kSize;
    gallery::ForEach(AdamPack<D, M, kSize>{to, from, m.data(), v.data(), rates}, packs,
                     call.cuda_stream());
    gallery::ForEach(
        AdamPack<D, M, 1>{to + done, from + done, m.data() + done, v.data() + done, rates},
        p.numel() - done, call.cuda_stream());
  }
};

OP_KERNELS(
    "adam_step(Tensor(a!) p, Tensor g, Tensor(b!) m, Tensor(c!) v, *, float lr, float beta1=0.9, "
    "float beta2=0.999, float eps=1e-8, float weight_decay=0.01, int step=1) -> ()")
    .cuda_kernel<void(float, float, float, float), void(double, double, double, double),
                 void(half, half, float, float), void(bfloat16, bfloat16, float, float)>(AdamStep())
    .cuda_graph();
