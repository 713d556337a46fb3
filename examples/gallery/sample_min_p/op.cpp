// Drawing a token from logits, with noise that is given: the column with the largest
// logits / temperature - log(noise), which for noise of an exponential distribution is a draw from
// softmax(logits / temperature). Columns less likely than min_p times the likeliest are left out.
//
// No probabilities, no sort and no running sums: two passes over the logits, one over the noise.
#include "../numbers.h"

using namespace oneop;

constexpr int64_t kBlock = 256;

OP("sample_min_p(Tensor logits, Tensor noise, *, float temperature=1.0, float min_p=0.05)"
   " -> Tensor token")
    .doc("A column of each row, drawn by noise of torch.empty_like(logits).exponential_().")
    .infer([](Infer& ctx) {
      const double temperature = ctx.attr<double>("temperature"), min_p = ctx.attr<double>("min_p");
      ctx.check(temperature > 0 && temperature < __builtin_inf(),
                "expected a temperature that is positive and finite");
      ctx.check(min_p >= 0 && min_p <= 1, "expected min_p from 0 to 1");
      ctx.check(ctx.dim("logits") > 0 && ctx.shape("logits") == ctx.shape("noise"),
                "expected logits and noise of one shape, with an axis of columns");
      ctx.check(ctx.size("logits", -1) > 0, "expected columns to draw from, found none");
      auto shape = ctx.shape("logits").dim_vec();
      shape.pop_back();
      ctx.set<int64_t>("token", oneflow::Shape(shape));
    })
    .rows<int64_t(float, float), int64_t(double, double), int64_t(half, float),
          int64_t(bfloat16, float)>([](auto logits, auto noise, auto token, auto temperature,
                                       auto min_p) {
      using N = std::decay_t<decltype(logits[0] + noise[0])>;
      const N none = -__builtin_inf();
      const auto lowest = max(logits) + log(N(min_p)) * temperature;
      const auto sharpness = 1 / temperature;
      N best = none, scores[kBlock];
      token[0] = 0;
      for (int64_t at = 0; at < logits.size(); at += kBlock) {
        const int64_t count = std::min(kBlock, logits.size() - at);
        const Row<N> block{scores, count};
        map(
            block,
            [=](auto v, auto e) {
              const N score = v * sharpness - log(e);
              return v >= lowest && score == score ? score : none;
            },
            decltype(logits){logits.begin() + at, count},
            decltype(noise){noise.begin() + at, count});
        const N top = max(block);
        if (top > best) {  // rare after the first blocks: only then its place is looked for
          best = top;
          token[0] = at + (std::find(block.begin(), block.end(), top) - block.begin());
        }
      }
    })
    .no_grad();
