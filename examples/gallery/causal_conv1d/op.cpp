// A short causal convolution of each channel, as state-space models have it:
// y[b, c, t] = bias[c] + sum over j of w[c, j] * x[b, c, t - k + 1 + j], then silu if asked for.
#include <numeric>

#include "../numbers.h"

using namespace oneop;

// y[i] = start + sum of w[j] * x[i + j]. The usual widths are compiled as they are: one pass.
template <class C, int kWidth>
void Slide(const C* x, const C* w, C start, int64_t width, int64_t count, C* y) {
  if constexpr (kWidth != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      C sum = start;
      for (int j = 0; j < kWidth; ++j) {
        sum += w[j] * x[i + j];
      }
      y[i] = sum;
    }
  } else {
    std::fill_n(y, count, start);
    for (int64_t j = 0; j < width; ++j) {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        y[i] += w[j] * x[i + j];
      }
    }
  }
}
template <class C>
auto SlideOf(int64_t width) {
  return width == 2   ? &Slide<C, 2>
         : width == 3 ? &Slide<C, 3>
         : width == 4 ? &Slide<C, 4>
                      : &Slide<C, 0>;
}

// A row after so many zeros, so that its beginning is no special case.
template <class T>
struct Padded {
  using C = gallery::Compute<T>;
  std::vector<C> room;
  C* row;
  Padded(int64_t length, int64_t before)
      : room(static_cast<size_t>(length + before)), row(room.data() + before) {}
  void Load(const T* from, int64_t count) {
    if constexpr (gallery::kConverts<T>) {
      op::Storage<T>::Load(from, row, count);
    } else {
      std::copy_n(from, count, row);
    }
  }
};

struct CausalConv1d {
  template <class T>
  void operator()(View<const T, 3> x, View<const T, 2> w, View<const T, 1> bias, View<T, 3> y,
                  Attrs attrs, Call& call) const {
    using C = gallery::Compute<T>;
    const int64_t channels = x.size(1), length = x.size(2), width = w.size(1);
    const bool silu = attrs.get<bool>("silu");
    const auto slide = SlideOf<C>(width);
    const int64_t grain = 8192 / std::max<int64_t>(1, length) + 1;
    call.parallel_for(0, x.size(0) * channels, grain, [&](int64_t begin, int64_t end) {
      Padded<T> from(length, width);
      gallery::Buffer<T> to(length), weights(width), biases(1);
      for (int64_t row = begin; row != end; ++row) {
        const int64_t c = row % channels;
        from.Load(x.data() + row * length, length);
        const auto out = to.Write(y.data() + row * length);
        slide(from.row - width + 1, weights.Read(w.data() + c * width).data(),
              biases.Read(bias.data() + c)[0].value, width, length, out.data());
        if (silu) {
          map(out, [](auto v) { return v * sigmoid(v); }, out);
        }
        to.Store(y.data() + row * length);
      }
    });
  }
};

// A thread has whole channels, so that sums over the batch are in its order.
struct CausalConv1dGrad {
  template <class T>
  void operator()(View<const T, 3> x, View<const T, 2> w, View<const T, 1> bias,
                  View<const T, 3> dy, View<T, 3> dx, View<T, 2> dw, View<T, 1> dbias, Attrs attrs,
                  Call& call) const {
    const int64_t channels = x.size(1), length = x.size(2), batch = x.size(0);
    const int64_t grain = 8192 / std::max<int64_t>(1, length * batch) + 1;
    call.parallel_for(0, channels, grain, [&](int64_t begin, int64_t end) {
      Channel<T> work(length, w.size(1), attrs.get<bool>("silu"));
      for (int64_t c = begin; c != end; ++c) {
        work.Start(w.data() + c * w.size(1), bias.data() + c);
        for (int64_t b = 0; b != batch; ++b) {
          const int64_t at = (b * channels + c) * length;
          work.Add(x.data() + at, dy.data() + at, dx.data() + at);
        }
        work.Finish(dw.data() + c * w.size(1), dbias.data() + c);
      }
    });
  }

 private:
  template <class T>
  struct Channel {
    using C = gallery::Compute<T>;
    int64_t length, width;
    bool silu;
    Padded<T> x, g;  // g: the gradient before the activation
    gallery::Buffer<T> dy, to, weight_room, bias_room, dw_room;
    std::vector<C> w, flipped, w_sum;
    C bias = 0, bias_sum = 0;

    Channel(int64_t l, int64_t k, bool has_silu)
        : length(l),
          width(k),
          silu(has_silu),
          x(l, k),
          g(l, 0),
          dy(l),
          to(l),
          weight_room(k),
          bias_room(1),
          dw_room(k),
          w(static_cast<size_t>(k)),
          flipped(w),
          w_sum(w) {}

    void Start(const T* weights, const T* its_bias) {
      const auto row = weight_room.Read(weights);
      std::copy_n(row.data(), width, w.begin());
      std::reverse_copy(w.begin(), w.end(), flipped.begin());
      std::fill(w_sum.begin(), w_sum.end(), C(0));
      bias = bias_room.Read(its_bias)[0].value;
      bias_sum = 0;
    }
    void Add(const T* x_row, const T* dy_row, T* dx_row) {
      const auto slide = SlideOf<C>(width);
      const C* before = x.row - width + 1;
      const auto d = dy.Read(dy_row);
      const auto inner = gallery::RowOf(g.row, length);
      x.Load(x_row, length);
      if (silu) {
        slide(before, w.data(), bias, width, length, g.row);
        map(
            inner,
            [](auto v, auto t) {
              const auto s = sigmoid(v);
              return t * s * (1 + v * (1 - s));
            },
            inner, d);
      } else {
        map(inner, [](auto t) { return t; }, d);
      }
      bias_sum += sum(inner).value;
      for (int64_t j = 0; j < width; ++j) {
        const Row<const Number<C>> moved{reinterpret_cast<const Number<C>*>(before + j), length};
        w_sum[static_cast<size_t>(j)] += dot(inner, moved).value;
      }
      // Near the end fewer outputs depend on an element. Zeros there would make NaN of an infinite
      // weight.
      C* out = to.Write(dx_row).data();
      const int64_t whole = std::max<int64_t>(0, length - width + 1);
      slide(g.row, flipped.data(), C(0), width, whole, out);
      for (int64_t i = whole; i < length; ++i) {
        out[i] = std::inner_product(g.row + i, g.row + length, flipped.begin(), C(0));
      }
      to.Store(dx_row);
    }
    void Finish(T* dw, T* dbias) {
      map(dw_room.Write(dw), [](auto v) { return v; }, gallery::RowOf(w_sum.data(), width));
      dw_room.Store(dw);
      bias_room.Write(dbias)[0] = bias_sum;
      bias_room.Store(dbias);
    }
  };
};

OP("causal_conv1d(Tensor x, Tensor w, Tensor bias, *, bool silu=False) -> Tensor y")
    .doc("Each channel of x (batch, channel, time) convolved with its row of w, over the past.")
    .infer("b c [t], c [k], c -> b c [t]")
    .kernel<float, double, half, bfloat16>(CausalConv1d())
    .gradient("dx, dw, dbias = causal_conv1d_grad(x, w, bias, dy, silu=silu)");

OP("causal_conv1d_grad(Tensor x, Tensor w, Tensor bias, Tensor dy, *, bool silu)"
   " -> (Tensor dx, Tensor dw, Tensor dbias)")
    .infer("b c [t], c [k], c, b c [t] -> b c [t], c [k], c")
    .kernel<float, double, half, bfloat16>(CausalConv1dGrad());
