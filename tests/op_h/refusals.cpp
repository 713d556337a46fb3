// Ops whose kernels, inference or calls do not fit together. Each is refused when it is called,
// before it touches what belongs to others.
#include "oneop/op.h"

using oneop::Attrs;
using oneop::Call;
using oneop::Infer;
using oneop::View;

// --- dtypes that inference gives and the kernel does not write ---
#define OTHER_DTYPE(name, dtype)                                                           \
  OP("ohr_elements_" name "(Tensor x) -> Tensor y")                                        \
      .infer([](Infer& ctx) { ctx.set("y", ctx.shape("x"), ::oneflow::dtype); })           \
      .elementwise<float, uint8_t>([](auto x) { return x; })                               \
      .no_grad();                                                                          \
  OP("ohr_rows_" name "(Tensor x) -> Tensor y")                                            \
      .infer([](Infer& ctx) { ctx.set("y", ctx.shape("x"), ::oneflow::dtype); })           \
      .rows<float, uint8_t>([](auto x, auto y) { map(y, [](auto v) { return v; }, x); })   \
      .no_grad();                                                                          \
  OP("ohr_views_" name "(Tensor x) -> Tensor y")                                           \
      .infer([](Infer& ctx) { ctx.set("y", ctx.shape("x"), ::oneflow::dtype); })           \
      .kernel<float, uint8_t>([](auto x, auto y) { y[0] = x[0]; })                         \
      .no_grad();                                                                          \
  OP("ohr_call_" name "(Tensor x) -> Tensor y")                                            \
      .infer([](Infer& ctx) { ctx.set("y", ctx.shape("x"), ::oneflow::dtype); })           \
      .kernel<float, uint8_t>([](Call& call) { call.output<uint8_t>("y").data()[0] = 1; }) \
      .no_grad();
OTHER_DTYPE("int8", kInt8)
OTHER_DTYPE("double", kDouble)
OP("ohr_list(Tensor[] xs, Tensor? b=None) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", ctx.shape("xs"), ctx.dtype("xs")); })
    .kernel<double(float, int64_t)>([](auto xs, auto, auto y) {
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = xs[xs.size() - 1][i];
    })
    .no_grad();
OP("ohr_set(Tensor x) -> (Tensor y, Tensor i)")
    .infer([](Infer& ctx) {
      ctx.set_like("y", "x");
      ctx.set<int64_t>("i", {1});
    })
    .kernel<oneop::Outputs<float, int64_t>(float)>([](auto x, auto y, auto i) {
      y[0] = x[0];
      i[0] = x.size();
    })
    .no_grad();

// --- shapes ---
OP("ohr_swapped(Tensor x) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", {ctx.size("x", 1), ctx.size("x", 0)}); })
    .elementwise<float>([](auto x) { return x; })
    .no_grad();
OP("ohr_same(Tensor[] xs, Tensor? b=None, Tensor? c=None) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto, auto, auto, auto y) { y[0] = 1; })
    .no_grad();
OP("ohr_unset(Tensor x, *, bool first=False) -> (Tensor y, Tensor z)")
    .infer([](Infer& ctx) {
      if (ctx.attr<bool>("first")) ctx.set_like("y", "x");
    })
    .kernel<float>([](auto, auto, auto) {})
    .no_grad();
OP("ohr_unset_list(Tensor[] xs) -> Tensor[2] ys")
    .infer([](Infer& ctx) { ctx.set("ys", ctx.shape("xs"), ctx.dtype("xs"), 0); })
    .kernel<float>([](auto, auto) {})
    .no_grad();
OP("ohr_many_axes(Tensor x) -> Tensor y")
    .infer("... -> ... 1 1 1 1 1")
    .kernel<float>([](auto, auto) {})
    .no_grad();
OP("ohr_long(Tensor x) -> Tensor y")
    .infer("n -> n 1000000")
    .kernel<float>([](auto, auto) {})
    .no_grad();

// --- rows ---
OP("ohr_add(Tensor x, Tensor w) -> Tensor y")
    .rows<float, bfloat16>([](auto x, auto w, auto y) {
      for (int64_t i = 0; i < x.size(); ++i) y[i] = x[i] + w[i];
    })
    .no_grad();
OP("ohr_weighted(Tensor x, Tensor w, Tensor s) -> Tensor y")
    .infer("... [n], [k], ... -> ... [n]")
    .rows<float>([](auto x, auto w, auto s, auto y) {
      map(y, [=](auto v) { return v * sum(w) * s[0]; }, x);
    })
    .no_grad();
OP("ohr_dot(Tensor x, Tensor w) -> Tensor y")
    .infer("... [n], [k] -> ...")
    .rows<float>([](auto x, auto w, auto y) { y[0] = dot(x, w); })
    .no_grad();
OP("ohr_map(Tensor x, Tensor w) -> Tensor y")
    .infer("... [n], [k] -> ... [n]")
    .rows<float>([](auto x, auto w, auto y) { map(y, [](auto a, auto b) { return a + b; }, x, w); })
    .no_grad();
OP("ohr_totals(Tensor x) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", {ctx.size("x", 0)}); })
    .rows<float>([](auto x, auto y) { y[0] = sum(x); })
    .no_grad();
OP("ohr_columns(Tensor x) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", {ctx.size("x", -1)}); })
    .rows<float>([](auto x, auto y) { y[0] = sum(x); })
    .no_grad();

// --- views ---
OP("ohr_walk(Tensor x, *, int how) -> Tensor y")
    .same_shape()
    .strided()
    .kernel<float>([](auto x, auto y, Attrs attrs) {
      const int64_t how = attrs.get<int64_t>("how");
      int64_t at = 0;
      if (how == 0) {
        for (int64_t i = 0; i != x.numel(); ++i) y[i] = 2 * x[i];
      } else if (how == 1) {
        for (const float v : x) y[at++] = 2 * v;
      } else {
        for (const float* v = x.end(); v != x.end(); ++v) y[at++] = *v;
      }
    })
    .no_grad();
OP("ohr_rank(Tensor x, Tensor? b=None, *, int how) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", {1}); })
    .kernel<float>([](auto x, auto b, auto y, Attrs attrs) {
      const int64_t how = attrs.get<int64_t>("how");
      y[0] = how == 0   ? oneop::view<3>(x)(0, 0, 0)
             : how == 1 ? static_cast<float>(x.size(3))
             : how == 2 ? static_cast<float>(x.stride(-4))
             : how == 3 ? b[0]
             : how == 4 ? static_cast<float>(b.dim())
             : how == 5 ? static_cast<float>(b.size(0))
             : how == 6 ? oneop::view<1>(b)(0)
             : how == 8 ? static_cast<float>(b.sizes().NumAxes())
             : how == 9 ? static_cast<float>(b.stride(-1))
                        : static_cast<float>(b.numel());
    })
    .no_grad();
OP("ohr_beyond(Tensor[] xs) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set("y", {1}, ctx.dtype("xs")); })
    .kernel<float>([](auto xs, auto y) { y[0] = xs[xs.size()][0]; })
    .no_grad();
OP("ohr_scratch(Tensor x, *, int count) -> Tensor y")
    .same_shape()
    .kernel<double>([](auto, auto, Call& call) {
      call.scratch<double>(call.attr<int64_t>("count"));
    })
    .no_grad();

// --- attributes ---
template <class T>
struct AskFor {
  void operator()(View<const double>, View<double> y, Attrs attrs) const {
    y[0] = static_cast<double>(attrs.get<T>("k"));
  }
};
#define ASKED(name, T, declared)                               \
  OP("ohr_as_" name "(Tensor x, *, " declared ") -> Tensor y") \
      .same_shape()                                            \
      .kernel<double>(AskFor<T>())                             \
      .no_grad();
ASKED("int", int, "int k")
ASKED("uint8", uint8_t, "int k")
ASKED("uint64", uint64_t, "int k")
ASKED("bool", bool, "int k")
ASKED("long", int64_t, "int k")
ASKED("real", double, "int k")
ASKED("float", float, "float k")
ASKED("double_of_32", double, "float32 k")
OP("ohr_float32(Tensor x, *, float32 k=0.1, float32? j=0.1) -> Tensor y")
    .elementwise<double>([](auto x, auto k, auto j) { return x + k + *j; })
    .gradient("dx = ohr_float32_grad(dy, k=k)");
OP("ohr_float32_grad(Tensor dy, *, float k) -> Tensor dx").elementwise<double>([](auto dy, auto k) {
  return dy * k;
});
OP("ohr_float32_rows(Tensor x, *, float32 k=0.1) -> Tensor y")
    .rows<double>([](auto x, auto y, auto k) { map(y, [=](auto v) { return v + k; }, x); })
    .no_grad();
OP("ohr_wide(Tensor x, *, int k=1, float a=1) -> Tensor y")
    .elementwise<double>([](auto x, auto k, auto a) { return x * k * a; })
    .gradient("dx = ohr_small(dy, k=k, a=a)");
OP("ohr_small(Tensor x, *, int32 k, float32 a) -> Tensor y")
    .elementwise<double>([](auto x, auto k, auto a) { return x * k * a; })
    .no_grad();

// --- bytes of a bool that are neither 0 nor 1 ---
OP("ohr_bools(Tensor c, Tensor a) -> (Tensor y, Tensor n, Tensor same)")
    .elementwise<oneop::Outputs<float, int32_t, bool>(bool, float)>([](auto c, auto a) {
      return oneop::results(c ? a : -a, c, c);
    })
    .no_grad();
OP("ohr_bool_rows(Tensor c) -> (Tensor n, Tensor same)")
    .infer("... [n] -> ... [n], ... [n]")
    .rows<oneop::Outputs<int32_t, bool>(bool)>([](auto c, auto n, auto same) {
      for (int64_t i = 0; i < c.size(); ++i) n[i] = c[i].value;
      map(same, [](auto v) { return v; }, c);
    })
    .no_grad();
OP("ohr_bool_views(Tensor c) -> (Tensor n, Tensor same)")
    .same_shape()
    .kernel<oneop::Outputs<int32_t, bool>(bool)>([](auto c, auto n, auto same) {
      int64_t at = 0;
      for (const bool v : c) n[at++] = v;
      const auto m = oneop::view<1>(c);
      for (int64_t i = 0; i != c.size(); ++i) same[i] = i % 2 == 0 ? c[i] : m(i);
    })
    .no_grad();

// --- no input to take a dtype from ---
OP("ohr_no_set(Tensor? x) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {2}); })
    .kernel<float>([](auto, auto) {})
    .no_grad();
OP("ohr_no_shape(Tensor? x) -> Tensor y").same_shape().kernel<float>([](auto, auto) {}).no_grad();
OP("ohr_no_items(Tensor?[] x) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {2}); })
    .kernel<float>([](auto, auto) {})
    .no_grad();
