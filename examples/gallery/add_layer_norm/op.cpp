// A residual and a LayerNorm in one pass: h = x + residual, y = LayerNorm(h) * w + b.
//
// h goes on to the next block of a transformer, y into this one; both are outputs.
#include "../numbers.h"

using namespace oneop;

OP("add_layer_norm(Tensor x, Tensor residual, Tensor w, Tensor b, *, float eps=1e-5)"
   " -> (Tensor y, Tensor h)")
    .doc("h = x + residual, and its LayerNorm over the last axis.")
    .infer("... [n], ... [n], [n], [n] -> ... [n], ... [n]")
    .rows<float, double, half, bfloat16>([](auto x, auto residual, auto w, auto b, auto y, auto h,
                                            auto eps) {
      map(h, [](auto u, auto v) { return u + v; }, x, residual);
      const auto mean = sum(h) / h.size();
      const auto variance = sum(h, [=](auto v) { return (v - mean) * (v - mean); }) / h.size();
      const auto r = rsqrt(variance + eps);
      map(y, [=](auto v, auto s, auto t) { return (v - mean) * r * s + t; }, h, w, b);
    })
    .gradient("dx, dw, db = add_layer_norm_grad(h, w, dy, dh, eps=eps); dresidual = dx");

struct AddLayerNormGrad {
  template <class T>
  void operator()(View<const T> h, View<const T, 1> w, View<const T> dy, View<const T> dh,
                  View<T> dx, View<T, 1> dw, View<T, 1> db, Attrs attrs, Call& call) const {
    using C = gallery::Compute<T>;
    const int64_t n = w.size(0);
    const int64_t rows = gallery::RowsOf(h.numel(), n);
    const int64_t parts = gallery::PartsFor(rows, n);
    const Number<C> eps = attrs.get<C>("eps");
    std::vector<C> sums(static_cast<size_t>(2 * parts * n));  // of dw in all parts, then of db
    gallery::ForEachPart(call, rows, parts, [&](int64_t part, int64_t begin, int64_t end) {
      gallery::Buffer<T> h_row(n), w_row(n), dy_row(n), dh_row(n), dx_row(n);
      const auto weight = w_row.Read(w.data());
      const auto w_sum = gallery::RowOf(sums.data() + part * n, n);
      const auto b_sum = gallery::RowOf(sums.data() + (parts + part) * n, n);
      for (int64_t i = begin; i != end; ++i) {
        const auto a = h_row.Read(h.data() + i * n);
        const auto d = dy_row.Read(dy.data() + i * n);
        const auto through = dh_row.Read(dh.data() + i * n);
        const auto to = dx_row.Write(dx.data() + i * n);
        const auto mean = sum(a) / n;
        const auto r = rsqrt(sum(a, [=](auto v) { return (v - mean) * (v - mean); }) / n + eps);
        map(w_sum, [=](auto s, auto v, auto t) { return s + t * (v - mean) * r; }, w_sum, a, d);
        map(b_sum, [](auto s, auto t) { return s + t; }, b_sum, d);
        map(to, [](auto t, auto s) { return t * s; }, d, weight);
        const auto level = sum(to) / n;
        const auto inner = sum(to, [=](auto t, auto v) { return t * (v - mean); }, a);
        const auto slope = inner * r * r / n;
        map(
            to, [=](auto t, auto v, auto g) { return g + r * (t - level - (v - mean) * slope); },
            to, a, through);
        dx_row.Store(dx.data() + i * n);
      }
    });
    gallery::SumParts<T>(sums.data(), parts, n, dw.data());
    gallery::SumParts<T>(sums.data() + parts * n, parts, n, db.data());
  }
};

OP("add_layer_norm_grad(Tensor h, Tensor w, Tensor dy, Tensor dh, *, float eps)"
   " -> (Tensor dx, Tensor dw, Tensor db)")
    .infer("... [n], [n], ... [n], ... [n] -> ... [n], [n], [n]")
    .kernel<float, double, half, bfloat16>(AddLayerNormGrad());
