// A residual and a LayerNorm on the GPU: rows are read once.
#include "../column_sums.cuh"

using namespace oneop;

ONEOP_FUNCTOR(AddLayerNorm, x, residual, w, b, y, h, eps) {
  map(h, [](auto u, auto v) { return u + v; }, x, residual);
  const auto mean = sum(h) / h.size();
  const auto variance = sum(h, [=](auto v) { return (v - mean) * (v - mean); }) / h.size();
  const auto r = rsqrt(variance + eps);
  map(y, [=](auto v, auto s, auto t) { return (v - mean) * r * s + t; }, h, w, b);
}

OP_KERNELS(
    "add_layer_norm(Tensor x, Tensor residual, Tensor w, Tensor b, *, float eps=1e-5)"
    " -> (Tensor y, Tensor h)")
    .cuda_rows<float, double, half, bfloat16>(AddLayerNorm());

// dx of a row, and its part of dw and db.
template <class T>
struct AddLayerNormGradRow {
  using C = gallery::Compute<T>;
  static constexpr int kSums = 2;
  const T* h;
  const T* w;
  const T* dy;
  const T* dh;
  T* dx;
  int64_t n;
  C eps;

  struct Pair {
    C a, b;
  };
  struct Known {
    C mean, r;
  };
  template <class Row>
  __device__ __forceinline__ void Fetch(int64_t row) const {
    gallery::device::Fetch<Row>(h + row * n, n);
    gallery::device::Fetch<Row>(dy + row * n, n);
    gallery::device::Fetch<Row>(dh + row * n, n);
  }
  template <class Row, class Weight, class Add>
  __device__ __forceinline__ Known operator()(int64_t row, const Weight& weight,
                                              const Add& add) const {
    const Row a(h + row * n, n), d(dy + row * n, n), through(dh + row * n, n);
    const auto plus = [](Pair p, Pair q) { return Pair{p.a + q.a, p.b + q.b}; };
    Pair sums{0, 0};
    walk(
        [&](int64_t, auto v, auto s, auto t) {
          sums.a += v.value;
          sums.b += s.value * t.value;
        },
        a, weight, d);
    sums = joined(a, sums, Pair{0, 0}, plus);
    const C mean = sums.a / n, level = sums.b / n;
    Pair centred{0, 0};
    walk(
        [&](int64_t, auto v, auto s, auto t) {
          const C z = v.value - mean;
          centred.a += z * z;
          centred.b += s.value * t.value * z;
        },
        a, weight, d);
    centred = joined(a, centred, Pair{0, 0}, plus);
    const C r = 1 / sqrt(centred.a / n + eps);
    const C slope = centred.b * r * r / n;
    gallery::OutputLike<Row> to(dx + row * n, n);
    map(
        to,
        [=](auto v, auto s, auto t, auto g) {
          return g + r * (t * s - level - (v - mean) * slope);
        },
        a, weight, d, through);
    add(
        [=](auto v, auto t, C* totals) {
          totals[0] += t.value * (v.value - mean) * r;
          totals[1] += t.value;
        },
        a, d);
    return {mean, r};
  }
  __device__ __forceinline__ void AddTo(C* totals, const Known& known, int64_t at) const {
    const C t = static_cast<C>(dy[at]);
    totals[0] += t * (static_cast<C>(h[at]) - known.mean) * known.r;
    totals[1] += t;
  }
};

struct AddLayerNormGrad {
  template <class T>
  void operator()(View<const T> h, View<const T, 1> w, View<const T> dy, View<const T> dh,
                  View<T> dx, View<T, 1> dw, View<T, 1> db, Attrs attrs, Call& call) const {
    using D = gallery::Stored<T>;
    const int64_t n = w.size(0), rows = gallery::RowsOf(h.numel(), n);
    const AddLayerNormGradRow<D> work{gallery::DataOf(h),
                                      gallery::DataOf(w),
                                      gallery::DataOf(dy),
                                      gallery::DataOf(dh),
                                      gallery::DataOf(dx),
                                      n,
                                      attrs.get<gallery::Compute<T>>("eps")};
    const bool is_packed =
        gallery::ArePacked<16>(n * int64_t{sizeof(D)}, work.h, work.w, work.dy, work.dh, work.dx);
    gallery::RowsWithSums<D>(work, rows, is_packed, {gallery::DataOf(dw), gallery::DataOf(db)},
                             call);
  }
};

OP_KERNELS(
    "add_layer_norm_grad(Tensor h, Tensor w, Tensor dy, Tensor dh, *, float eps)"
    " -> (Tensor dx, Tensor dw, Tensor db)")
    .cuda_kernel<float, double, half, bfloat16>(AddLayerNormGrad())
    .cuda_graph();
