// Ops of oneop/op.h whose functors run on the CPU and on the GPU.
#include "oneop/op.h"

ONEOP_FUNCTOR(Swish, x, beta) { return x * sigmoid(beta * x); }
ONEOP_FUNCTOR(SwishGrad, x, dy, beta) {
  const auto s = sigmoid(beta * x);
  return dy * (s + beta * x * s * (1 - s));
}
ONEOP_FUNCTOR(SinCos, x) { return oneop::results(sin(x), max(cos(x), 0)); }
ONEOP_FUNCTOR(Math, x) {
  return oneop::results(exp(x), log(abs(x) + 1), tanh(x), erf(x), sqrt(abs(x)), sigmoid(x));
}
ONEOP_FUNCTOR(AddTimes, x, y, k) { return x + k * y; }
ONEOP_FUNCTOR(Clip, x, low, high) {
  auto y = x;
  if (low) {
    y = max(y, *low);
  }
  if (high) {
    y = min(y, *high);
  }
  return y;
}

OP("gpu_oph_swish(Tensor x, *, float beta=1.0) -> Tensor y")
    .elementwise<float, double, half, bfloat16>(Swish())
    .gradient("dx = gpu_oph_swish_grad(x, dy, beta=beta)");
OP("gpu_oph_swish_grad(Tensor x, Tensor dy, *, float beta) -> Tensor dx")
    .elementwise<float, double, half, bfloat16>(SwishGrad())
    .no_grad();
OP("gpu_oph_sincos(Tensor x) -> (Tensor s, Tensor c)").elementwise<float, half>(SinCos()).no_grad();
OP("gpu_oph_math(Tensor x) -> (Tensor e, Tensor l, Tensor t, Tensor f, Tensor r, Tensor s)")
    .elementwise<float, double>(Math())
    .no_grad();
OP("gpu_oph_add_times(Tensor x, Tensor y, *, int k) -> Tensor z")
    .elementwise<int32_t, int64_t, uint8_t, float>(AddTimes())
    .no_grad();
OP("gpu_oph_clip(Tensor x, *, float? low=None, float? high=None) -> Tensor y")
    .elementwise<float, double>(Clip())
    .no_grad();
ONEOP_FUNCTOR(Choose, c, a) { return oneop::results(c ? a : -a, c); }
ONEOP_FUNCTOR(Same, c) { return c; }
OP("gpu_oph_choose(Tensor c, Tensor a) -> (Tensor y, Tensor same)")
    .elementwise<oneop::Outputs<float, bool>(bool, float)>(Choose())
    .no_grad();
OP("gpu_oph_same(Tensor c) -> Tensor y").elementwise<int32_t(bool), bool(float)>(Same()).no_grad();
OP("gpu_oph_copy(Tensor x) -> Tensor y")
    .same_shape()
    .no_grad()
    .cuda_kernel<float>([](oneop::View<const float> x, oneop::View<float> y, oneop::Call& call) {
      cudaMemcpyAsync(y.data(), x.data(), sizeof(float) * x.numel(), cudaMemcpyDeviceToDevice,
                      call.cuda_stream());
    });
OP("gpu_oph_rows(Tensor x) -> Tensor y")
    .rows<float>([](auto x, auto y) { y[0] = sum(x); })
    .no_grad();

// One functor of rows for both devices.
ONEOP_FUNCTOR(Softmax, x, w, y, top, scale) {
  const auto largest = max(x);
  map(y, [=](auto v, auto u) { return u * exp(scale * (v - largest)); }, x, w);
  const auto total = sum(y);
  map(y, [=](auto v) { return v / total; }, y);
  top[0] = largest;
}
OP("gpu_oph_softmax(Tensor x, Tensor w, *, float scale=1.0) -> (Tensor y, Tensor top)")
    .infer("... [n], [n] -> ... [n], ...")
    .rows<float, double, half, bfloat16>(Softmax())
    .cuda_rows<float, double, half, bfloat16>(Softmax())
    .no_grad();

// What rows have on the GPU alone: places, and values of all threads.
struct Turned {
  template <class X, class Y, class I>
  ONEOP_BOTH void operator()(X x, Y y, I first) const {
    using N = typename X::Element;
    const int64_t n = x.size();
    int64_t negative = n;
    walk([&](int64_t i, N v) { negative = v < 0 && i < negative ? i : negative; }, x);
    negative = joined(x, negative, n, [](int64_t a, int64_t b) { return a < b ? a : b; });
    map_at(y, [=](int64_t i, N v) { return i < negative ? v : -v; }, x);
    first[0] = oneop::Number<int64_t>(negative);
  }
};
OP("gpu_oph_turned(Tensor x) -> (Tensor y, Tensor first)")
    .infer("... [n] -> ... [n], ...")
    .cuda_rows<oneop::Outputs<float, int64_t>(float), oneop::Outputs<half, int64_t>(half)>(Turned())
    .no_grad();

// Positive elements, in order: one thread is enough for a test.
__global__ void KeepPositive(const float* x, float* y, int64_t n, int64_t* count) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] > 0) {
      y[kept++] = x[i];
    }
  }
  *count = kept;
}
OP("gpu_h_positive(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("x") == 1, "x has one axis");
      ctx.set_like("y", "x");
    })
    .dynamic("y", 0)
    .cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
      auto* count = call.scratch<int64_t>(1);
      KeepPositive<<<1, 1, 0, call.cuda_stream()>>>(x.data(), y.data(), x.numel(), count);
      int64_t kept = 0;
      cudaMemcpyAsync(&kept, count, sizeof kept, cudaMemcpyDeviceToHost, call.cuda_stream());
      cudaStreamSynchronize(call.cuda_stream());
      call.set_size("y", 0, kept);
    })
    .no_grad();
