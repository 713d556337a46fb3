// Cross entropy of rows of logits, without a tensor of probabilities: the loss and the logarithm of
// the sum of exponentials come out of two passes over a row, and the gradient needs no more than
// these. torch keeps log_softmax, which is as large as the logits.
#include "../numbers.h"

using namespace oneop;

// lse is an output for its own sake too: a z-loss is lse * lse.
OP("cross_entropy(Tensor logits, Tensor target, *, int ignore_index=-100)"
   " -> (Tensor loss, Tensor lse)")
    .doc(
        "lse = logsumexp(logits) and loss = lse - logits[target] of each row; loss is 0 where "
        "target is ignore_index.")
    .infer("... [v], ... -> ..., ...")
    .rows<Outputs<float, float>(float, int64_t), Outputs<double, double>(double, int64_t),
          Outputs<float, float>(half, int64_t), Outputs<float, float>(bfloat16, int64_t)>(
        [](auto logits, auto target, auto loss, auto lse, auto ignore_index) {
          const int64_t label = static_cast<int64_t>(target[0]);
          const bool is_ignored = label == ignore_index;
          if (!is_ignored && (label < 0 || label >= logits.size())) {
            gallery::RefuseIndex("a target is no column of the logits");
          }
          const auto top = max(logits);
          const auto total = sum(logits, [=](auto v) { return exp(v - top); });
          // An infinite top alone decides lse; x - top is NaN then, and so is the loss, as torch's.
          const auto level = top + log(total);
          lse[0] = abs(top) == __builtin_inf() ? top : level;
          loss[0] = level - logits[is_ignored ? 0 : label];
          if (is_ignored) {
            loss[0] = 0;
          }
        })
    .gradient(
        "dlogits = cross_entropy_grad(logits, target, lse, dloss, dlse, "
        "ignore_index=ignore_index); dtarget = None");

OP("cross_entropy_grad(Tensor logits, Tensor target, Tensor lse, Tensor dloss, Tensor dlse, *, "
   "int ignore_index) -> Tensor dlogits")
    .infer("... [v], ..., ..., ..., ... -> ... [v]")
    .rows<float(float, int64_t, float, float, float),
          double(double, int64_t, double, double, double), half(half, int64_t, float, float, float),
          bfloat16(bfloat16, int64_t, float, float, float)>([](auto logits, auto target, auto lse,
                                                               auto dloss, auto dlse, auto dlogits,
                                                               auto ignore_index) {
      const int64_t label = static_cast<int64_t>(target[0]);
      const bool is_ignored = label == ignore_index;
      if (!is_ignored && (label < 0 || label >= logits.size())) {
        gallery::RefuseIndex("a target is no column of the logits");
      }
      const auto scale = is_ignored ? dlse[0] : dloss[0] + dlse[0];
      const auto level = lse[0];
      map(dlogits, [=](auto v) { return scale * exp(v - level); }, logits);
      if (!is_ignored) {
        dlogits[label] -= dloss[0];
      }
    });
