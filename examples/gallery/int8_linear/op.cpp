// A linear layer with weights of 8 bits: y = x @ (w * scale).T, for inference.
//
// Each row of x is quantised too, by its own largest element, so that the products are of int8 and
// their sums of int32: exact. The compiler makes the processor's dot products of the plain loops.
#include "../numbers.h"

using namespace oneop;

constexpr int64_t kBlock = 4;           // rows of x, and of w, that are multiplied at a time
constexpr int64_t kMostTerms = 132104;  // 127 * 128 * this fits an int32

// sums[i][j] = x[i] . w[j]; each element that is loaded is used kBlock times.
template <int kRows>
void Products(const int8_t* x, const int8_t* w, int64_t k, int32_t* sums) {
  int32_t total[kRows][kBlock] = {};
  for (int64_t t = 0; t < k; ++t) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int64_t j = 0; j < kBlock; ++j) {
        total[i][j] += static_cast<int32_t>(x[i * k + t]) * static_cast<int32_t>(w[j * k + t]);
      }
    }
  }
  std::copy_n(&total[0][0], kRows * kBlock, sums);
}
int32_t Product(const int8_t* x, const int8_t* w, int64_t k) {
  int32_t total = 0;
  for (int64_t t = 0; t < k; ++t) {
    total += static_cast<int32_t>(x[t]) * static_cast<int32_t>(w[t]);
  }
  return total;
}

// to = row / step, rounded; returns step, or NaN for a row that has an infinite element or a NaN.
template <class R>
float Quantise(const R& row, int8_t* to) {
  const float largest = row.size() == 0 ? 0.0f : max(max(row), -min(row)).value;
  const float step = largest / 127.0f;
  if (!(largest < __builtin_inff())) {
    std::fill_n(to, row.size(), int8_t(0));
    return __builtin_nanf("");
  }
  const float* from = row.data();
  if (step < 1e-37f) {  // too small to divide by: all of the row counts as 0
    std::fill_n(to, row.size(), int8_t(0));
    return 0.0f;
  }
  for (int64_t t = 0; t < row.size(); ++t) {
    to[t] = static_cast<int8_t>(static_cast<int32_t>(__builtin_rintf(from[t] / step)));
  }
  return step;
}

struct Int8Linear {
  template <class T>
  void operator()(View<const T> x, View<const int8_t> w, View<const float> scale, View<T> y, Attrs,
                  Call& call) const {
    const int64_t m = x.size(0), k = x.size(1), n = w.size(0);
    std::vector<int8_t> quantised(static_cast<size_t>(m * k));
    std::vector<float> steps(static_cast<size_t>(m));
    call.parallel_for(0, m, 16384 / std::max<int64_t>(1, k) + 1, [&](int64_t begin, int64_t end) {
      gallery::Buffer<T> row(k);
      for (int64_t i = begin; i != end; ++i) {
        steps[static_cast<size_t>(i)] =
            Quantise(row.Read(x.data() + i * k), quantised.data() + i * k);
      }
    });
    // Columns of y are shared among the threads: each reads its part of w once for a block of x.
    const int64_t grain = 65536 / std::max<int64_t>(1, m * k) + 1;
    call.parallel_for(0, (n + kBlock - 1) / kBlock, grain, [&](int64_t begin, int64_t end) {
      for (int64_t first = 0; first < m; first += kStrip) {
        Strip(quantised.data(), w.data(), steps.data(), scale.data(), first,
              std::min(first + kStrip, m), begin * kBlock, std::min(end * kBlock, n), k, n,
              y.data());
      }
    });
  }

 private:
  static constexpr int64_t kStrip = 64;  // rows of x that stay in the cache while w goes by

  template <class T>
  static void Put(const int32_t* sums, int64_t rows, const float* steps, const float* scale, T* y,
                  int64_t n) {
    for (int64_t i = 0; i != rows; ++i) {
      for (int64_t j = 0; j != kBlock; ++j) {
        y[i * n + j] =
            static_cast<T>(static_cast<float>(sums[i * kBlock + j]) * (steps[i] * scale[j]));
      }
    }
  }
  template <class T>
  static void Strip(const int8_t* x, const int8_t* w, const float* steps, const float* scale,
                    int64_t first, int64_t last, int64_t left, int64_t right, int64_t k, int64_t n,
                    T* y) {
    int32_t sums[kBlock * kBlock];
    int64_t j = left;
    for (; j + kBlock <= right; j += kBlock) {
      int64_t i = first;
      for (; i + kBlock <= last; i += kBlock) {
        Products<kBlock>(x + i * k, w + j * k, k, sums);
        Put(sums, kBlock, steps + i, scale + j, y + i * n + j, n);
      }
      for (; i != last; ++i) {
        Products<1>(x + i * k, w + j * k, k, sums);
        Put(sums, 1, steps + i, scale + j, y + i * n + j, n);
      }
    }
    for (; j < right; ++j) {
      for (int64_t i = first; i != last; ++i) {
        const auto sum = static_cast<float>(Product(x + i * k, w + j * k, k));
        y[i * n + j] = static_cast<T>(sum * (steps[i] * scale[j]));
      }
    }
  }
};

// Rounding has no useful derivative, so there is none.
OP("int8_linear(Tensor x, Tensor w, Tensor scale) -> Tensor y")
    .doc("x @ (w * scale[:, None]).T with w of int8, after rounding each row of x to 8 bits.")
    .infer([](Infer& ctx) {
      ctx.check(ctx.dim("x") == 2 && ctx.dim("w") == 2 && ctx.size("x", 1) == ctx.size("w", 1),
                "expected x (m, k) and w (n, k)");
      ctx.check(ctx.dim("scale") == 1 && ctx.size("scale", 0) == ctx.size("w", 0),
                "expected a scale for each row of w");
      ctx.check(ctx.size("x", 1) <= kMostTerms, "expected at most 132104 columns");
      ctx.set("y", {ctx.size("x", 0), ctx.size("w", 0)});
    })
    .kernel<float(float, int8_t, float), half(half, int8_t, float),
            bfloat16(bfloat16, int8_t, float)>(Int8Linear())
    .sbp("S(0), B, B -> S(0)", "B, S(0), S(0) -> S(1)")
    .no_grad();
