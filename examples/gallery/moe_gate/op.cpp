// The router of a mixture of experts: softmax over the experts and the k best of them.
//
// Where the weights are made to sum to 1 again, which is the usual way, only the k best logits
// matter: softmax of these is the same.
#include "../numbers.h"

using namespace oneop;

// Of two logits, whether the first is chosen before the second; a NaN before any number, as
// torch.sort has it. The earlier expert is chosen among equals.
template <class N>
bool IsBefore(N a, N b) {
  return a > b || (isnan(a) && !isnan(b));
}

// The k best, in order: value[0] is the largest. One pass; most logits lose against the last one.
template <class R, class V, class I>
void Choose(const R& logits, const V& value, const I& expert) {
  const int64_t k = value.size();
  int64_t held = 0;
  for (int64_t e = 0; e != logits.size(); ++e) {
    const auto v = logits[e];
    if (held == k && (v <= value[k - 1] || !IsBefore(v, value[k - 1]))) {
      continue;
    }
    int64_t at = held == k ? k - 1 : held++;
    for (; at > 0 && IsBefore(v, value[at - 1]); --at) {
      value[at] = value[at - 1];
      expert[at] = expert[at - 1];
    }
    value[at] = v;
    expert[at] = e;
  }
}

OP("moe_gate(Tensor logits, *, int k, bool renormalize=True) -> (Tensor weights, Tensor experts)")
    .doc("The k largest of softmax(logits) and their columns, the largest first.")
    .infer([](Infer& ctx) {
      const int64_t k = ctx.attr<int64_t>("k");
      ctx.check(ctx.dim("logits") > 1, "expected rows of logits");
      ctx.check(k >= 1 && k <= ctx.size("logits", -1),
                "expected k from 1 to the number of experts");
      auto shape = ctx.shape("logits");
      shape.Set(shape.NumAxes() - 1, k);
      ctx.set("weights", shape);
      ctx.set<int64_t>("experts", shape);
    })
    .rows<Outputs<float, int64_t>(float), Outputs<double, int64_t>(double),
          Outputs<half, int64_t>(half), Outputs<bfloat16, int64_t>(bfloat16)>(
        [](auto logits, auto weights, auto experts, auto, auto renormalize) {
          Choose(logits, weights, experts);
          const auto top = weights[0];
          const auto relative = [=](auto v) { return exp(v - top); };
          const auto total = renormalize ? sum(weights, relative) : sum(logits, relative);
          map(weights, [=](auto v) { return relative(v) / total; }, weights);
        })
    .sbp("S(0) -> S(0), S(0)")
    .gradient(
        "dlogits = moe_gate_grad(logits, weights, experts, dweights, "
        "renormalize=renormalize)");

OP("moe_gate_grad(Tensor logits, Tensor weights, Tensor experts, Tensor dweights, *, "
   "bool renormalize) -> Tensor dlogits")
    .infer("... [e], ... [k], ... [k], ... [k] -> ... [e]")
    .rows<float(float, float, int64_t, float), double(double, double, int64_t, double),
          half(half, half, int64_t, half), bfloat16(bfloat16, bfloat16, int64_t, bfloat16)>(
        [](auto logits, auto weights, auto experts, auto dweights, auto dlogits, auto renormalize) {
          const auto inner = dot(weights, dweights);
          if (renormalize) {
            std::fill(dlogits.begin(), dlogits.end(), 0);
          } else {
            const auto top = max(logits);
            const auto total = sum(logits, [=](auto v) { return exp(v - top); });
            map(dlogits, [=](auto v) { return -inner * exp(v - top) / total; }, logits);
          }
          for (int64_t j = 0; j != experts.size(); ++j) {
            const auto e = static_cast<int64_t>(experts[j]);
            if (e < 0 || e >= logits.size()) {
              gallery::RefuseIndex("an expert is no column of the logits");
            }
            dlogits[e] += weights[j] * (renormalize ? dweights[j] - inner : dweights[j]);
          }
        });
