// corpus_right.cpp: ops that are right, and of kinds for which a check could raise a false alarm.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "oneop/op.h"

namespace {

OP("right_gelu(Tensor x) -> Tensor y")
    .elementwise<float, double, half, bfloat16>([](auto x) {
      return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    })
    .gradient("dx = right_gelu_grad(x, dy)");
OP("right_gelu_grad(Tensor x, Tensor dy) -> Tensor dx")
    .elementwise<float, double, half, bfloat16>([](auto x, auto dy) {
      auto cdf = 0.5 * (1 + erf(x * 0.70710678118654752440));
      return dy * (cdf + x * exp(-0.5 * x * x) * 0.39894228040143267794);
    });

// 1 - tanh^2 cancels for large x.
OP("right_tanh_grad(Tensor y, Tensor dy) -> Tensor dx")
    .elementwise<float, double>([](auto y, auto dy) { return dy * (1 - y * y); })
    .no_grad();

OP("right_softmax(Tensor x) -> Tensor y")
    .infer("... [n] -> ... [n]")
    .rows<float, double, half, bfloat16>([](auto x, auto y) {
      auto top = max(x);
      map(y, [=](auto v) { return exp(v - top); }, x);
      auto total = sum(y);
      map(y, [=](auto v) { return v / total; }, y);
    })
    .gradient("dx = right_softmax_grad(y, dy)");
OP("right_softmax_grad(Tensor y, Tensor dy) -> Tensor dx")
    .infer("... [n], ... [n] -> ... [n]")
    .rows<float, double, half, bfloat16>([](auto y, auto dy, auto dx) {
      auto inner = dot(y, dy);
      map(dx, [=](auto a, auto b) { return a * (b - inner); }, y, dy);
    });

// A quick exponential: good to 4 units in the last place.
OP("right_quick_exp(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      for (int64_t i = 0; i < x.numel(); ++i) {
        const float v = x[i];
        if (!(v > -87.0f && v < 88.0f)) {
          y[i] = std::exp(v);
          continue;
        }
        const float steps = std::rint(v * 1.44269504f);
        const float r = (v - steps * 0.693145752f) - steps * 1.42860677e-6f;
        float series = 1.0f / 5040;
        for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f})
          series = series * r + c;
        const int32_t bits = (static_cast<int32_t>(steps) + 127) << 23;
        float power;
        std::memcpy(&power, &bits, sizeof power);
        y[i] = series * power;
      }
    })
    .no_grad();

// Half in, float sums, half out.
struct Matmul {
  template <class T>
  void operator()(oneop::View<const T, 2> a, oneop::View<const T, 2> b, oneop::View<T, 2> c) const {
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    for (int64_t i = 0; i != c.size(0); ++i) {
      for (int64_t j = 0; j != c.size(1); ++j) {
        Sum sum = 0;
        for (int64_t k = 0; k != a.size(1); ++k)
          sum += static_cast<Sum>(a(i, k)) * static_cast<Sum>(b(k, j));
        c(i, j) = T(sum);
      }
    }
  }
};
OP("right_matmul(Tensor a, Tensor b) -> Tensor c")
    .infer("m k, k n -> m n")
    .kernel<float, double, half, bfloat16>(Matmul())
    .no_grad();

// Strides of the caller, any rank.
OP("right_strided_copy(Tensor x) -> Tensor y")
    .same_shape()
    .strided()
    .kernel<float, int64_t>([](auto x, auto y) {
      for (int64_t i = 0; i < x.numel(); ++i) {
        int64_t rest = i, offset = 0;
        for (int64_t axis = x.dim() - 1; axis >= 0; --axis) {
          offset += rest % x.size(axis) * x.stride(axis);
          rest /= x.size(axis);
        }
        y[i] = x.data()[offset];
      }
    })
    .no_grad();

// In place, with signatures.
OP("right_axpy_(Tensor(a!) y, Tensor x, *, float alpha=1.0) -> ()")
    .elementwise<float, double>([](auto y, auto x, auto alpha) { return y + alpha * x; })
    .no_grad();

// Refuses what is beyond its table.
OP("right_lookup(Tensor table, Tensor index) -> Tensor y")
    .infer("[v] d, n -> n d")
    .kernel<float(float, int64_t), double(double, int64_t)>([](auto table, auto index, auto y) {
      const auto rows = oneop::view<2>(table);
      for (int64_t i = 0; i < index.numel(); ++i) {
        if (index[i] < 0 || index[i] >= rows.size(0))
          throw std::out_of_range("index beyond the table");
        for (int64_t j = 0; j < rows.size(1); ++j) y[i * rows.size(1) + j] = rows(index[i], j);
      }
    })
    .no_grad();

// Pieces of any size.
OP("right_parallel_sum(Tensor x) -> Tensor y")
    .infer("... [n] -> ...")
    .kernel<float, double>([](auto x, auto y, oneop::Call& call) {
      const int64_t length = x.dim() ? x.size(-1) : 1;
      call.parallel_for(0, y.numel(), 4, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i != end; ++i) {
          double sum = 0;
          for (int64_t j = 0; j != length; ++j) sum += x[i * length + j];
          y[i] = sum;
        }
      });
    })
    .no_grad();

}  // namespace
