// The ops of the tests of "oneop/op.h": one library, compiled once.
#include "oneop/op.h"

using oneop::Attrs;
using oneop::Call;
using oneop::Infer;
using oneop::View;
using oneop::Views;

// --- Elements ---
OP("oph_swish(Tensor x, *, float beta=1.0) -> Tensor y")
    .doc("x * sigmoid(beta * x)")
    .elementwise<float, double, half, bfloat16>([](auto x, auto beta) {
      return x / (1 + exp(-beta * x));
    })
    .gradient("dx = oph_swish_grad(x, dy, beta=beta)");
OP("oph_swish_grad(Tensor x, Tensor dy, *, float beta) -> Tensor dx")
    .elementwise<float, double, half, bfloat16>([](auto x, auto dy, auto beta) {
      auto s = 1 / (1 + exp(-beta * x));
      return dy * (s + beta * x * s * (1 - s));
    });
OP("oph_binary(Tensor a, Tensor b, *, str kind, float scale=1.0) -> Tensor y")
    .elementwise<float, double>([](auto a, auto b, std::string_view kind, auto scale) {
      return scale * (kind == "add"   ? a + b
                      : kind == "sub" ? a - b
                      : kind == "mul" ? a * b
                      : kind == "max" ? max(a, b)
                      : kind == "min" ? min(a, b)
                                      : select(a > b, a, 2 * b));
    })
    .no_grad();
OP("oph_unary(Tensor x, *, int kind) -> Tensor y")
    .elementwise<float, double>([](auto x, int64_t kind) {
      return kind == 0   ? tanh(x)
             : kind == 1 ? sin(x)
             : kind == 2 ? erf(x)
             : kind == 3 ? abs(x)
                         : -x;
    })
    .no_grad();
OP("oph_choose(Tensor condition, Tensor a, Tensor b) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set_like("y", "a"); })
    .elementwise<float(bool, float, float), double(bool, double, double)>([](auto condition, auto a,
                                                                             auto b) {
      return condition ? a : b;
    })
    .no_grad();
OP("oph_frexp(Tensor x) -> (Tensor fraction, Tensor exponent)")
    .same_shape()
    .elementwise<oneop::Outputs<float, int32_t>(float)>([](float x) {
      int exponent = 0;
      const float fraction = __builtin_frexpf(x, &exponent);
      return oneop::results(fraction, exponent);
    })
    .no_grad();
OP("oph_add_(Tensor(a!) x, Tensor y, *, float alpha=1) -> ()")
    .elementwise<float, int64_t, bfloat16>([](auto x, auto y, auto alpha) { return x + alpha * y; })
    .no_grad();
OP("oph_half_plus(Tensor x) -> Tensor y")
    .elementwise<int8_t, uint8_t, int32_t, int64_t>([](auto x) { return x / 2 + 1; })
    .no_grad();

// --- Rows ---
OP("oph_rms_norm(Tensor x, Tensor w, *, float eps=1e-6) -> Tensor y")
    .rows<float, double, half, bfloat16>([](auto x, auto w, auto y, auto eps) {
      auto r = rsqrt(sum(x, [](auto v) { return v * v; }) / x.size() + eps);
      for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] * r * w[i];
    })
    .sbp("S(0), B -> S(0)")
    .no_grad();
OP("oph_softmax(Tensor x) -> (Tensor y, Tensor top)")
    .infer("... [n] -> ... [n], ...")
    .rows<float, double, bfloat16>([](auto x, auto y, auto top) {
      top[0] = max(x);
      map(y, [m = top[0]](auto v) { return exp(v - m); }, x);
      auto total = sum(y);
      map(y, [=](auto v) { return v / total; }, y);
    })
    .gradient("dx = oph_softmax_grad(y, dy)");
OP("oph_softmax_grad(Tensor y, Tensor dy) -> Tensor dx")
    .rows<float, double, bfloat16>([](auto y, auto dy, auto dx) {
      auto inner = dot(y, dy);
      map(dx, [=](auto a, auto b) { return a * (b - inner); }, y, dy);
    })
    .no_grad();

// --- Kernels of views ---
struct MatMul {
  template <class T>
  void operator()(View<const T, 2> a, View<const T, 2> b, View<T, 2> c, Attrs attrs,
                  Call& call) const {
    const T scale = attrs.get<T>("scale");
    call.parallel_for(0, a.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i != end; ++i) {
        for (int64_t j = 0; j != b.size(1); ++j) {
          T total = 0;
          for (int64_t k = 0; k != a.size(1); ++k) total += a(i, k) * b(k, j);
          c(i, j) = scale * total;
        }
      }
    });
  }
};
OP("oph_matmul(Tensor a, Tensor b, *, float scale=1.0) -> Tensor c")
    .infer("m k, k n -> m n")
    .kernel<float, double>(MatMul())
    .gradient(R"(
        bt = oph_transpose(b)
        da = oph_matmul(dc, bt, scale=scale)
        at = oph_transpose(a); db = oph_matmul(at, dc, scale=scale)
    )");
OP("oph_transpose(Tensor x) -> Tensor y")
    .infer("a b -> b a")
    .strided()
    .kernel<float, double>([](auto x, auto y) {
      const auto a = oneop::view<2>(x);
      const auto b = oneop::view<2>(y);
      for (int64_t i = 0; i != b.size(0); ++i) {
        for (int64_t j = 0; j != b.size(1); ++j) b(i, j) = a(j, i);
      }
    })
    .gradient("dx = oph_transpose(dy)");
OP("oph_total(Tensor[] xs, Tensor? bias=None, *, int[] weights=[1, 1]) -> Tensor y")
    .infer([](Infer& ctx) {
      ctx.check(ctx.attr<std::vector<int64_t>>("weights").size() == size_t(ctx.count("xs")),
                "expected a weight for each of xs");
      ctx.set("y", ctx.shape("xs"), ctx.dtype("xs"));
    })
    .kernel<float, double>([](auto xs, auto bias, auto y, Call& call) {
      using T = std::remove_reference_t<decltype(y[0])>;
      const auto weights = call.attr<std::vector<int64_t>>("weights");
      T* sums = call.scratch<T>(y.numel());
      for (int64_t i = 0; i != y.numel(); ++i) {
        sums[i] = bias.defined() ? bias[i] : 0;
        for (int64_t k = 0; k != xs.size(); ++k) sums[i] += weights[k] * xs[k][i];
      }
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = sums[i];
    })
    .gradient("dbias = dy; dxs = oph_spread(xs, dy, weights=weights)");
OP("oph_spread(Tensor[] xs, Tensor dy, *, int[] weights) -> Tensor[] dxs")
    .infer([](Infer& ctx) {
      for (int32_t i = 0; i != ctx.count("xs"); ++i) {
        ctx.set("dxs", ctx.shape("xs", i), ctx.dtype("dy"), i);
      }
    })
    .kernel<float, double>([](auto xs, auto dy, auto dxs, Attrs attrs) {
      const auto weights = attrs.get<std::vector<int64_t>>("weights");
      for (int64_t k = 0; k != xs.size(); ++k) {
        for (int64_t i = 0; i != dy.numel(); ++i) dxs[k][i] = weights[k] * dy[i];
      }
    })
    .no_grad();
struct Gather {
  void operator()(Call& call) const {
    const auto x = call.input<float, 1>("x");
    const auto index = call.input<int64_t>("index");
    const auto y = call.output<float>("y");
    for (int64_t i = 0; i != y.numel(); ++i) y[i] = x[index[i]];
  }
};
OP("oph_gather(Tensor x, Tensor index, *, bool check=True) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", ctx.shape("index"), ctx.dtype("x")); })
    .kernel<float(float, int64_t)>(Gather())
    .no_grad();
OP("oph_noise(Tensor x) -> Tensor y")
    .random()
    .no_grad()
    .side_effect()
    .same_shape()
    .kernel<float>([](View<const float> x, View<float> y) {
      for (int64_t i = 0; i != x.numel(); ++i) y[i] = 0;
    });
OP("oph_gated(Tensor x, Tensor gate) -> Tensor y")
    .elementwise<float, double>([](auto x, auto gate) { return gate > 0 ? x : 0; })
    .gradient("dx = oph_gated(dy, gate); dgate = None");
OP("oph_defaults(Tensor x, *, int32 a=-3, bool b=True, float32 c=0.5, float d=-inf, str "
   "e='it\\'s', "
   "shape f=(2, 3), dtype g=torch.float16, float[] h=[0.5, 1], str[] i=['a', \"b\"], "
   "dtype[] j=[int64]) -> Tensor y")
    .same_shape()
    .no_grad();

// --- Optional attributes and attributes by position ---
OP("oh_clip(Tensor x, float? low=None, float? high=1.5, *, int? times=None) -> Tensor y")
    .elementwise<float, double, half>([](auto x, auto low, auto high,
                                         std::optional<int64_t> times) {
      auto y = low && x < *low ? decltype(x)(*low) : x;
      y = high && y > *high ? decltype(x)(*high) : y;
      return times ? y * static_cast<float>(*times) : y;
    })
    .gradient("dx = oh_clip_grad(x, dy, low=low, high=high, times=times)");
OP("oh_clip_grad(Tensor x, Tensor dy, *, float? low, float? high, int? times) -> Tensor dx")
    .elementwise<float, double, half>([](auto x, auto dy, auto low, auto high, auto times) {
      const bool is_cut = (low && x < *low) || (high && x > *high);
      return is_cut ? dy * 0.0f : times ? dy * static_cast<float>(*times) : dy;
    });
OP("oh_asked(Tensor x, *, str? mode=None, int[]? sizes=None) -> Tensor y")
    .same_shape()
    .kernel<float>([](oneop::View<const float> x, oneop::View<float> y, oneop::Attrs attrs) {
      const auto mode = attrs.get<std::optional<std::string>>("mode");
      const auto sizes = attrs.get<std::optional<std::vector<int64_t>>>("sizes");
      const float add = (mode ? static_cast<float>(mode->size()) : 100.0f) +
                        (sizes ? static_cast<float>(sizes->size()) : 1000.0f);
      for (int64_t i = 0; i != x.size(0); ++i) {
        y[i] = x[i] + add;
      }
    });
