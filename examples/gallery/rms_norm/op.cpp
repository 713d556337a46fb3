// RMSNorm: y = x / sqrt(mean(x * x) + eps) * w, over the last axis.
#include "../numbers.h"

using namespace oneop;

OP("rms_norm(Tensor x, Tensor w, *, float eps=1e-6) -> Tensor y")
    .doc("x divided by the root of the mean of its squares, times w; over the last axis.")
    .infer("... [n], [n] -> ... [n]")
    .rows<float, double, half, bfloat16>([](auto x, auto w, auto y, auto eps) {
      const auto r = rsqrt(dot(x, x) / x.size() + eps);
      map(y, [=](auto a, auto b) { return a * r * b; }, x, w);
    })
    .gradient("dx, dw = rms_norm_grad(x, w, dy, eps=eps)");

// The root is worked out again: that costs a dot product of a row that is read anyway, and saves
// an output.
struct RmsNormGrad {
  template <class T>
  void operator()(View<const T> x, View<const T, 1> w, View<const T> dy, View<T> dx, View<T, 1> dw,
                  Attrs attrs, Call& call) const {
    using C = gallery::Compute<T>;
    const int64_t n = w.size(0);
    const int64_t rows = gallery::RowsOf(x.numel(), n);
    const int64_t parts = gallery::PartsFor(rows, n);
    const Number<C> eps = attrs.get<C>("eps");
    std::vector<C> sums(static_cast<size_t>(parts * n));
    gallery::ForEachPart(call, rows, parts, [&](int64_t part, int64_t begin, int64_t end) {
      gallery::Buffer<T> x_row(n), w_row(n), dy_row(n), dx_row(n);
      const auto weight = w_row.Read(w.data());
      const auto sum = gallery::RowOf(sums.data() + part * n, n);
      for (int64_t i = begin; i != end; ++i) {
        const auto a = x_row.Read(x.data() + i * n);
        const auto d = dy_row.Read(dy.data() + i * n);
        const auto to = dx_row.Write(dx.data() + i * n);
        const auto r = rsqrt(dot(a, a) / n + eps);
        map(to, [](auto dv, auto wv) { return dv * wv; }, d, weight);
        const auto inner = dot(to, a) * r * r / n;
        map(to, [=](auto t, auto v) { return r * (t - v * inner); }, to, a);
        map(sum, [=](auto s, auto dv, auto v) { return s + dv * v * r; }, sum, d, a);
        dx_row.Store(dx.data() + i * n);
      }
    });
    gallery::SumParts<T>(sums.data(), parts, n, dw.data());
  }
};

OP("rms_norm_grad(Tensor x, Tensor w, Tensor dy, *, float eps) -> (Tensor dx, Tensor dw)")
    .infer("... [n], [n], ... [n] -> ... [n], [n]")
    .kernel<float, double, half, bfloat16>(RmsNormGrad());
