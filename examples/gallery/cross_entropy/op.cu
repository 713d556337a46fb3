// Cross entropy on the GPU: one pass over a row of any length for the loss, one for the gradient.
//
// A target that is no column cannot be refused here, without waiting for the GPU: its loss, and the
// gradient of its row, are NaN. Nothing outside of the row is read.
#include "../numbers.cuh"

using namespace oneop;

// The largest of some logits, and the sum of exp(logit - largest).
template <class N>
struct Soft {
  N top, total;
};

struct LossOfRow {
  template <class L, class I, class R, class A>
  ONEOP_BOTH void operator()(L logits, I target, R loss, R lse, A ignore_index) const {
#if defined(__CUDA_ARCH__)
    using N = typename L::Element;
    const int64_t label = target[0].value;
    const bool is_ignored = label == ignore_index;
    const bool is_there = label >= 0 && label < logits.size();
    const N own = is_there ? logits[label] : N(__builtin_nan(""));
    const Soft<N> soft = SoftOf(logits);
    // An infinite top alone decides lse; the loss is NaN then, as torch's.
    const bool is_infinite = abs(soft.top) == N(__builtin_inf());
    const N level = is_infinite ? soft.top : soft.top + log(soft.total);
    lse[0] = level;
    loss[0] = is_ignored ? N(0) : is_infinite ? N(__builtin_nan("")) : level - own;
#endif
  }

 private:
  template <class L, class N>
  __device__ __forceinline__ static N Exp(N x) {
    return N(gallery::Exp<gallery::kIsShort<typename L::Plain>>(x.value));
  }
  template <class L>
  __device__ __forceinline__ static auto SoftOf(const L& logits) {
    using N = typename L::Element;
    const N lowest(-__builtin_inf());
    if constexpr (L::kIsKept) {
      const N top = max(logits);
      return Soft<N>{top, sum(logits, [=](N v) { return Exp<L>(v - top); })};
    } else {
      Soft<N> own{lowest, N(0)};
      device::ForPacks([&](int p, int64_t at) { Add(logits, logits.Load(p, at), own); }, logits);
      return joined(logits, own, Soft<N>{lowest, N(0)}, [](Soft<N> a, Soft<N> b) {
        const N top = max(a.top, b.top);
        return Soft<N>{top, a.total * Factor<L>(a.top, top) + b.total * Factor<L>(b.top, top)};
      });
    }
  }
  template <class L, class Pack, class N>
  __device__ __forceinline__ static void Add(const L&, const Pack& pack, Soft<N>& soft) {
    N top = pack.at[0];
#pragma unroll
    for (int i = 1; i < L::kElements; ++i) {
      top = N(gallery::Largest(top.value, pack.at[i].value));
    }
    if (!(top <= soft.top)) {  // rare after the first packs
      soft.total = soft.total * Factor<L>(soft.top, top);
      soft.top = top;
    }
    const N base = soft.top == N(-__builtin_inf()) ? N(0) : soft.top;
    N total(0);
    if constexpr (gallery::kIsShort<typename L::Plain>) {
      const float scaled = base.value * gallery::kLog2OfE;
#pragma unroll
      for (int i = 0; i < L::kElements; ++i) {
        total = total + N(gallery::RoughExp(pack.at[i].value, scaled));
      }
    } else {
#pragma unroll
      for (int i = 0; i < L::kElements; ++i) {
        total = total + Exp<L>(pack.at[i] - base);
      }
    }
    soft.total = soft.total + total;
  }
  // exp(from - to), also where both are infinite.
  template <class L, class N>
  __device__ __forceinline__ static N Factor(N from, N to) {
    return from == to ? N(1) : Exp<L>(from - to);
  }
};

struct GradOfRow {
  template <class L, class I, class S, class D, class A>
  ONEOP_BOTH void operator()(L logits, I target, S lse, S dloss, S dlse, D dlogits,
                             A ignore_index) const {
#if defined(__CUDA_ARCH__)
    using N = typename L::Element;
    const int64_t label = target[0].value;
    const bool is_ignored = label == ignore_index;
    const bool is_there = is_ignored || (label >= 0 && label < logits.size());
    const N own = is_ignored ? N(0) : dloss[0];
    const N scale = is_there ? own + dlse[0] : N(__builtin_nan(""));
    const N level = lse[0];
    map_at(
        dlogits,
        [=](int64_t i, N v) {
          const N p =
              scale * N(gallery::Exp<gallery::kIsShort<typename L::Plain>>((v - level).value));
          return i == label ? p - own : p;
        },
        logits);
#endif
  }
};

OP_KERNELS(
    "cross_entropy(Tensor logits, Tensor target, *, int ignore_index=-100)"
    " -> (Tensor loss, Tensor lse)")
    .cuda_rows<Outputs<float, float>(float, int64_t), Outputs<double, double>(double, int64_t),
               Outputs<float, float>(half, int64_t), Outputs<float, float>(bfloat16, int64_t)>(
        LossOfRow());

OP_KERNELS(
    "cross_entropy_grad(Tensor logits, Tensor target, Tensor lse, Tensor dloss, Tensor dlse, *, "
    "int ignore_index) -> Tensor dlogits")
    .cuda_rows<float(float, int64_t, float, float, float),
               double(double, int64_t, double, double, double),
               half(half, int64_t, float, float, float),
               bfloat16(bfloat16, int64_t, float, float, float)>(GradOfRow());
