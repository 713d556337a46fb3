// One step of AdamW in one pass over memory: the parameter and both moments are changed in place.
// Moments of half and bfloat16 parameters are float.
#include <cmath>

#include "../numbers.h"

using namespace oneop;

constexpr int64_t kBlock = 512;

struct AdamStep {
  template <class P, class M>
  void operator()(View<P> p, View<const P> g, View<M> m, View<M> v, Attrs attrs, Call& call) const {
    const double step = static_cast<double>(attrs.get<int64_t>("step"));
    const double beta1 = attrs.get<double>("beta1"), beta2 = attrs.get<double>("beta2");
    const double lr = attrs.get<double>("lr");
    // Once for a call, which is why this is no .elementwise.
    const auto rate = static_cast<M>(lr / (1 - std::pow(beta1, step)));
    const auto spread = static_cast<M>(1 / std::sqrt(1 - std::pow(beta2, step)));
    const auto decay = static_cast<M>(1 - lr * attrs.get<double>("weight_decay"));
    const auto eps = static_cast<M>(attrs.get<double>("eps"));
    const auto keep1 = static_cast<M>(beta1), take1 = static_cast<M>(1 - beta1);
    const auto keep2 = static_cast<M>(beta2), take2 = static_cast<M>(1 - beta2);
    call.parallel_for(0, p.numel(), 16384, [&](int64_t begin, int64_t end) {
      gallery::Buffer<P> p_room(kBlock), g_room(kBlock);
      for (int64_t at = begin; at < end; at += kBlock) {
        const int64_t count = std::min(kBlock, end - at);
        const M* grad = g_room.Read(g.data() + at, count).data();
        M* param = const_cast<M*>(p_room.Read(p.data() + at, count).data());
        M* first = m.data() + at;
        M* second = v.data() + at;
#pragma GCC ivdep
        for (int64_t i = 0; i < count; ++i) {
          first[i] = keep1 * first[i] + take1 * grad[i];
          second[i] = keep2 * second[i] + take2 * grad[i] * grad[i];
          const M root = sqrt(Number<M>(second[i])).value * spread + eps;
          param[i] = param[i] * decay - rate * first[i] / root;
        }
        p_room.Store(p.data() + at, count);
      }
    });
  }
};

OP("adam_step(Tensor(a!) p, Tensor g, Tensor(b!) m, Tensor(c!) v, *, float lr, float beta1=0.9, "
   "float beta2=0.999, float eps=1e-8, float weight_decay=0.01, int step=1) -> ()")
    .doc("One AdamW step of p by the gradient g, with moments m and v; step counts from 1.")
    .infer([](Infer& ctx) {
      ctx.check(ctx.shape("g") == ctx.shape("p") && ctx.shape("m") == ctx.shape("p") &&
                    ctx.shape("v") == ctx.shape("p"),
                "expected g, m and v of the shape of p");
      ctx.check(ctx.attr<int64_t>("step") >= 1, "expected a step from 1 on");
    })
    .kernel<void(float, float, float, float), void(double, double, double, double),
            void(half, half, float, float), void(bfloat16, bfloat16, float, float)>(AdamStep())
    .sbp("S(0), S(0), S(0), S(0) -> ")
    .no_grad();
