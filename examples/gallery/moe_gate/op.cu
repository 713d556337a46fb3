// The router on the GPU: a warp, or a block for many experts, has a row and looks for its best
// expert k times, each time for the best of those that come after the last one.
//
// An expert that is not there, in the gradient, adds to nothing.
#include "../numbers.cuh"

using namespace oneop;

// An expert and its logit. All logits have one order: larger ones first, a NaN before any number,
// and of equal ones the earlier expert.
template <class C>
struct Candidate {
  C value;
  int expert;
};
template <class C>
__device__ __forceinline__ bool IsBefore(const Candidate<C>& a, const Candidate<C>& b) {
  const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
  if (a.value > b.value || (a_is_nan && !b_is_nan)) {
    return true;
  }
  return (a.value == b.value || (a_is_nan && b_is_nan)) && a.expert < b.expert;
}

struct Choose {
  template <class L, class W, class E, class K>
  ONEOP_BOTH void operator()(L logits, W weights, E experts, K, bool renormalize) const {
#if defined(__CUDA_ARCH__)
    using N = typename L::Element;
    using C = typename N::type;
    using Best = Candidate<C>;
    // Comes after all others, and is none of them.
    const Best none{static_cast<C>(-__builtin_inf()), 0x7fffffff};
    const int64_t k = experts.size();
    Best last = none;
    N top(0), total(0);
    for (int64_t j = 0; j < k; ++j) {
      Best best = none;
      walk(
          [&](int64_t i, N v) {
            const Best other{v.value, static_cast<int>(i)};
            if ((j == 0 || IsBefore(last, other)) && IsBefore(other, best)) {
              best = other;
            }
          },
          logits);
      last = joined(logits, best, none, [](Best a, Best b) { return IsBefore(b, a) ? b : a; });
      top = j == 0 ? N(last.value) : top;
      total = total + exp(N(last.value) - top);
      experts[j] = Number<int64_t>(last.expert);
    }
    if (!renormalize) {
      total = sum(logits, [=](N v) { return exp(v - top); });
    }
    for (int64_t j = L::Group::rank(); j < k; j += L::Group::size()) {
      weights[j] = exp(logits[experts.data()[j]] - top) / total;  // this thread wrote it, too
    }
#endif
  }
};

struct ChooseGrad {
  template <class L, class W, class E, class D>
  ONEOP_BOTH void operator()(L logits, W weights, E experts, W dweights, D dlogits,
                             bool renormalize) const {
#if defined(__CUDA_ARCH__)
    using N = typename L::Element;
    const N inner = dot(weights, dweights);
    const N top = renormalize ? N(0) : max(logits);
    const N total = renormalize ? N(1) : sum(logits, [=](N v) { return exp(v - top); });
    const int64_t k = experts.size();
    map_at(
        dlogits,
        [=](int64_t i, N v) {
          N result = renormalize ? N(0) : -inner * exp(v - top) / total;
          for (int64_t j = 0; j < k; ++j) {
            if (experts.data()[j] == i) {
              const N d = dweights[j];
              result = result + weights[j] * (renormalize ? d - inner : d);
            }
          }
          return result;
        },
        logits);
#endif
  }
};

OP_KERNELS(
    "moe_gate(Tensor logits, *, int k, bool renormalize=True) -> (Tensor weights, Tensor experts)")
    .cuda_rows<Outputs<float, int64_t>(float), Outputs<double, int64_t>(double),
               Outputs<half, int64_t>(half), Outputs<bfloat16, int64_t>(bfloat16)>(Choose());

OP_KERNELS(
    "moe_gate_grad(Tensor logits, Tensor weights, Tensor experts, Tensor dweights, *, "
    "bool renormalize) -> Tensor dlogits")
    .cuda_rows<float(float, float, int64_t, float), double(double, double, int64_t, double),
               half(half, half, int64_t, half), bfloat16(bfloat16, bfloat16, int64_t, bfloat16)>(
        ChooseGrad());
