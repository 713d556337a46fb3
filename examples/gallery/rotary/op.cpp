// Rotary position embedding: pairs of columns of each head turned by an angle that depends on the
// position.
//
// A pair is (i, i + d/2), as in GPT-NeoX and Llama, or (2 i, 2 i + 1) where `interleaved`. The way
// back is the same turn by the opposite angle, so the two ops are each other's gradient.
#include "../numbers.h"

using namespace oneop;

// y = x turned; rows of d elements, d / 2 angles. sign is -1 for the way back.
template <class C>
void TurnHalves(const C* x, const C* cosine, const C* sine, C sign, int64_t half_d, C* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < half_d; ++i) {
    const C a = x[i], b = x[i + half_d], s = sign * sine[i];
    y[i] = a * cosine[i] - b * s;
    y[i + half_d] = b * cosine[i] + a * s;
  }
}
template <class C>
void TurnPairs(const C* x, const C* cosine, const C* sine, C sign, int64_t half_d, C* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < half_d; ++i) {
    const C a = x[2 * i], b = x[2 * i + 1], s = sign * sine[i];
    y[2 * i] = a * cosine[i] - b * s;
    y[2 * i + 1] = b * cosine[i] + a * s;
  }
}

template <int kSign>
struct Rotary {
  template <class T, class C>
  void operator()(View<const T> x, View<const C> cosine, View<const C> sine, View<T> y, Attrs attrs,
                  Call& call) const {
    const int64_t length = x.size(1), heads = x.size(2), d = x.size(3);
    const auto turn = attrs.get<bool>("interleaved") ? &TurnPairs<C> : &TurnHalves<C>;
    const int64_t grain = 8192 / std::max<int64_t>(1, heads * d) + 1;
    call.parallel_for(0, x.size(0) * length, grain, [&](int64_t begin, int64_t end) {
      gallery::Buffer<T> from(heads * d), to(heads * d);
      for (int64_t token = begin; token != end; ++token) {
        const C* c = cosine.data() + token % length * (d / 2);
        const C* s = sine.data() + token % length * (d / 2);
        const auto a = from.Read(x.data() + token * heads * d);
        const auto b = to.Write(y.data() + token * heads * d);
        for (int64_t h = 0; h != heads; ++h) {
          turn(a.data() + h * d, c, s, C(kSign), d / 2, b.data() + h * d);
        }
        to.Store(y.data() + token * heads * d);
      }
    });
  }
};

void InferRotary(Infer& ctx) {
  ctx.check(ctx.dim("x") == 4 && ctx.size("x", 3) % 2 == 0,
            "expected x of batch, positions, heads and an even number of columns");
  const ::oneflow::Shape angles{ctx.size("x", 1), ctx.size("x", 3) / 2};
  ctx.check(ctx.shape("cosine") == angles && ctx.shape("sine") == angles,
            "expected cosine and sine of positions and half the columns of x");
  ctx.set_like("y", "x");
}

// Angles of half and bfloat16 would be too coarse for long texts: they are float there.
OP("rotary(Tensor x, Tensor cosine, Tensor sine, *, bool interleaved=False) -> Tensor y")
    .doc("Rotary embedding of x (batch, position, head, column); angles (position, column / 2).")
    .infer(InferRotary)
    .kernel<float, double, half(half, float, float), bfloat16(bfloat16, float, float)>(Rotary<1>())
    .sbp("S(0), B, B -> S(0)", "S(1), S(0), S(0) -> S(1)", "S(2), B, B -> S(2)")
    .gradient(
        "dx = rotary_back(dy, cosine, sine, interleaved=interleaved); dcosine = None; dsine = "
        "None");

OP("rotary_back(Tensor x, Tensor cosine, Tensor sine, *, bool interleaved=False) -> Tensor y")
    .doc("The turn of rotary by the opposite angle.")
    .infer(InferRotary)
    .kernel<float, double, half(half, float, float), bfloat16(bfloat16, float, float)>(Rotary<-1>())
    .sbp("S(0), B, B -> S(0)", "S(1), S(0), S(0) -> S(1)", "S(2), B, B -> S(2)")
    .gradient(
        "dx = rotary(dy, cosine, sine, interleaved=interleaved); dcosine = None; dsine = None");
