// SwiGLU of a packed projection: x holds the gate and the values side by side, as one matrix
// product gives them, and y = silu(gate) * values. Splitting x first would copy it.
#include "oneop/op.h"

using namespace oneop;

// The columns of a row from `first` on.
template <class R>
R Columns(const R& row, int64_t first, int64_t count) {
  return {row.begin() + first, count};
}

OP("swiglu(Tensor x) -> Tensor y")
    .doc("silu of the first half of the last axis, times the second half.")
    .infer([](Infer& ctx) {
      ctx.check(ctx.dim("x") > 1, "expected two axes at least");
      ctx.check(ctx.size("x", -1) % 2 == 0, "expected rows of an even length: a gate and values");
      auto shape = ctx.shape("x");
      shape.Set(shape.NumAxes() - 1, ctx.size("x", -1) / 2);
      ctx.set("y", shape);
    })
    .rows<float, double, half, bfloat16>([](auto x, auto y) {
      const int64_t n = y.size();
      map(y, [](auto g, auto v) { return g * sigmoid(g) * v; }, Columns(x, 0, n), Columns(x, n, n));
    })
    .sbp("S(0) -> S(0)")
    .gradient("dx = swiglu_grad(x, dy)");

// m is 2 n, which a line of axes cannot say; map() compares the lengths.
OP("swiglu_grad(Tensor x, Tensor dy) -> Tensor dx")
    .infer("... [m], ... [n] -> ... [m]")
    .rows<float, double, half, bfloat16>([](auto x, auto dy, auto dx) {
      const int64_t n = x.size() / 2;
      const auto gate = Columns(x, 0, n), value = Columns(x, n, n);
      map(
          Columns(dx, 0, n),
          [](auto g, auto v, auto d) {
            const auto s = sigmoid(g);
            return d * v * s * (1 + g * (1 - s));
          },
          gate, value, dy);
      map(Columns(dx, n, n), [](auto g, auto d) { return d * g * sigmoid(g); }, gate, dy);
    });
