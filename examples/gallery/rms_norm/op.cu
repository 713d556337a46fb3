// RMSNorm on the GPU: a row is read once.
#include "../column_sums.cuh"

using namespace oneop;

ONEOP_FUNCTOR(RmsNorm, x, w, y, eps) {
  const auto r = rsqrt(dot(x, x) / x.size() + eps);
  map(y, [=](auto a, auto b) { return a * r * b; }, x, w);
}

OP_KERNELS("rms_norm(Tensor x, Tensor w, *, float eps=1e-6) -> Tensor y")
    .cuda_rows<float, double, half, bfloat16>(RmsNorm());

// dx of a row, and its part of dw.
template <class T>
struct RmsNormGradRow {
  using C = gallery::Compute<T>;
  static constexpr int kSums = 1;
  const T* x;
  const T* w;
  const T* dy;
  T* dx;
  int64_t n;
  C eps;

  struct Totals {
    C squares, product;
  };
  struct Known {  // of a row, for the sums of columns
    C r;
  };
  template <class Row>
  __device__ __forceinline__ void Fetch(int64_t row) const {
    gallery::device::Fetch<Row>(x + row * n, n);
    gallery::device::Fetch<Row>(dy + row * n, n);
  }
  template <class Row, class Weight, class Add>
  __device__ __forceinline__ Known operator()(int64_t row, const Weight& weight,
                                              const Add& add) const {
    const Row a(x + row * n, n), d(dy + row * n, n);
    Totals totals{0, 0};
    walk(
        [&](int64_t, auto v, auto s, auto t) {
          totals.squares += v.value * v.value;
          totals.product += t.value * s.value * v.value;
        },
        a, weight, d);
    totals = joined(a, totals, Totals{0, 0}, [](Totals p, Totals q) {
      return Totals{p.squares + q.squares, p.product + q.product};
    });
    const C r = 1 / sqrt(totals.squares / n + eps);
    const C inner = totals.product * r * r / n;
    gallery::OutputLike<Row> to(dx + row * n, n);
    map(to, [=](auto v, auto s, auto t) { return r * (t * s - v * inner); }, a, weight, d);
    add([=](auto v, auto t, C* sums) { sums[0] += t.value * v.value * r; }, a, d);
    return {r};
  }
  __device__ __forceinline__ void AddTo(C* sums, const Known& known, int64_t at) const {
    sums[0] += static_cast<C>(dy[at]) * static_cast<C>(x[at]) * known.r;
  }
};

struct RmsNormGrad {
  template <class T>
  void operator()(View<const T> x, View<const T, 1> w, View<const T> dy, View<T> dx, View<T, 1> dw,
                  Attrs attrs, Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t n = w.size(0), rows = gallery::RowsOf(x.numel(), n);
    const RmsNormGradRow<D> work{gallery::DataOf(x),
                                 gallery::DataOf(w),
                                 gallery::DataOf(dy),
                                 gallery::DataOf(dx),
                                 n,
                                 attrs.get<gallery::Compute<T>>("eps")};
    const bool is_packed =
        gallery::ArePacked<16>(n * int64_t{sizeof(D)}, work.x, work.w, work.dy, work.dx);
    gallery::RowsWithSums<D>(work, rows, is_packed, {gallery::DataOf(dw)}, call);
  }
};

OP_KERNELS("rms_norm_grad(Tensor x, Tensor w, Tensor dy, *, float eps) -> (Tensor dx, Tensor dw)")
    .cuda_kernel<float, double, half, bfloat16>(RmsNormGrad())
    .cuda_graph();
