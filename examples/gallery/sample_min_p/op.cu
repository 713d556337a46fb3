// Drawing a token on the GPU: a row is read once where it fits the registers; a longer one is read
// twice, and of its noise what belongs to columns that are likely enough.
#include "../numbers.cuh"

using namespace oneop;

template <class C>
struct Draw {
  C score;
  int64_t column;
};

struct Sample {
  template <class L, class E, class I, class A>
  ONEOP_BOTH void operator()(L logits, E noise, I token, A temperature, A min_p) const {
#if defined(__CUDA_ARCH__)
    using N = typename E::Element;
    using C = typename N::type;
    const Draw<C> none{static_cast<C>(-__builtin_inf()), INT64_MAX};
    const N lowest = max(logits) + log(N(min_p)) * temperature;
    const N sharpness = N(1) / N(temperature);
    Draw<C> best = none;
    const auto consider = [&](int64_t i, N v, N e) {
      if (v >= lowest) {
        const C score = (v * sharpness - log(e)).value;
        if (score > best.score) {  // a thread meets its columns in their order
          best = {score, i};
        }
      }
    };
    if constexpr (L::kIsKept) {
      walk(consider, logits, noise);
    } else {
      device::ForPacks(
          [&](int p, int64_t at) {
            const auto values = logits.Load(p, at);
            bool is_likely = false;
#pragma unroll
            for (int i = 0; i < L::kElements; ++i) {
              is_likely = is_likely || values.at[i] >= lowest;
            }
            if (is_likely) {  // few packs are: most of the noise is not read
              const auto noises = noise.Load(p, at);
#pragma unroll
              for (int i = 0; i < L::kElements; ++i) {
                consider(at + i, values.at[i], noises.at[i]);
              }
            }
          },
          logits, noise);
    }
    best = joined(logits, best, none, [](Draw<C> a, Draw<C> b) {
      return b.score > a.score || (b.score == a.score && b.column < a.column) ? b : a;
    });
    token[0] = Number<int64_t>(best.column == INT64_MAX ? 0 : best.column);
#endif
  }
};

OP_KERNELS(
    "sample_min_p(Tensor logits, Tensor noise, *, float temperature=1.0, float min_p=0.05)"
    " -> Tensor token")
    .cuda_rows<int64_t(float, float), int64_t(double, double), int64_t(half, float),
               int64_t(bfloat16, float)>(Sample());
