// Rows summed, or their maximum taken, by segment: y[s] is made of the rows i with index[i] == s.
// Graph networks, bags of embeddings, pooling of ragged batches. The index need not be sorted.
//
// Each thread has a range of segments and looks through the whole index, so no two threads write to
// one row, nothing is atomic, and a sum is in the order of the rows whatever the number of threads.
#include "../numbers.h"

using namespace oneop;

void CheckIndex(const View<const int64_t>& index, int64_t segments) {
  int64_t lowest = 0, highest = -1;
  for (const int64_t s : index) {
    lowest = std::min(lowest, s);
    highest = std::max(highest, s);
  }
  if (lowest < 0 || highest >= segments) {
    gallery::RefuseIndex("an index is not in [0, segments)");
  }
}

// fn(row, segment) for the rows of each segment, in their order; a segment belongs to one thread.
template <class Start, class Row, class End>
void ForSegments(Call& call, const View<const int64_t>& index, int64_t segments, const Start& start,
                 const Row& row, const End& finish) {
  CheckIndex(index, segments);
  call.parallel_for(0, segments, 16, [&](int64_t begin, int64_t end) {
    auto state = start(begin, end);
    for (int64_t i = 0; i != index.numel(); ++i) {
      if (index[i] >= begin && index[i] < end) {
        row(state, i, index[i] - begin);
      }
    }
    finish(state, begin, end);
  });
}

struct SegmentSum {
  template <class T>
  void operator()(View<const T> x, View<const int64_t> index, View<T> y, Attrs, Call& call) const {
    using C = gallery::Compute<T>;
    const int64_t d = x.size(1), segments = y.size(0);
    // Sums of half and bfloat16 are kept in float until all rows are added.
    struct State {
      std::vector<C> wide;
      C* sums;
      gallery::Buffer<T> row;
    };
    const auto start = [&](int64_t begin, int64_t end) {
      const auto count = static_cast<size_t>((end - begin) * d);
      State state{std::vector<C>(gallery::kConverts<T> ? count : 0), nullptr,
                  gallery::Buffer<T>(d)};
      if constexpr (gallery::kConverts<T>) {
        state.sums = state.wide.data();
      } else {
        state.sums = y.data() + begin * d;
        std::fill_n(state.sums, count, C(0));
      }
      return state;
    };
    const auto add = [&](State& state, int64_t i, int64_t s) {
      const auto sum = gallery::RowOf(state.sums + s * d, d);
      map(sum, [](auto a, auto b) { return a + b; }, sum, state.row.Read(x.data() + i * d));
    };
    const auto finish = [&](State& state, int64_t begin, int64_t end) {
      for (int64_t s = begin; gallery::kConverts<T> && s != end; ++s) {
        T* to = y.data() + s * d;
        map(
            state.row.Write(to), [](auto v) { return v; },
            gallery::RowOf(state.sums + (s - begin) * d, d));
        state.row.Store(to);
      }
    };
    ForSegments(call, index, segments, start, add, finish);
  }
};

struct SegmentGather {
  template <class T>
  void operator()(View<const T> y, View<const int64_t> index, View<T> x, Attrs, Call& call) const {
    const int64_t d = y.size(1);
    CheckIndex(index, y.size(0));
    call.parallel_for(0, index.numel(), 8192 / std::max<int64_t>(1, d) + 1,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i != end; ++i) {
                          std::copy_n(y.data() + index[i] * d, d, x.data() + i * d);
                        }
                      });
  }
};

// The maximum and the row that it is in; the first of equal ones. A NaN is the largest.
struct SegmentMax {
  template <class T>
  void operator()(View<const T> x, View<const int64_t> index, View<T> y, View<int64_t> row_of,
                  Attrs, Call& call) const {
    const int64_t d = x.size(1);
    const auto start = [&](int64_t begin, int64_t end) {
      std::fill_n(y.data() + begin * d, (end - begin) * d, T(0));
      std::fill_n(row_of.data() + begin * d, (end - begin) * d, int64_t(-1));
      return begin;
    };
    const auto keep = [&](int64_t begin, int64_t i, int64_t s) {
      T* best = y.data() + (begin + s) * d;
      int64_t* row = row_of.data() + (begin + s) * d;
      const T* value = x.data() + i * d;
#pragma GCC ivdep
      for (int64_t j = 0; j < d; ++j) {
        const bool is_larger = !(value[j] <= best[j]) && best[j] == best[j];
        const bool is_new = row[j] < 0 || is_larger;
        best[j] = is_new ? value[j] : best[j];
        row[j] = is_new ? i : row[j];
      }
    };
    ForSegments(call, index, y.size(0), start, keep, [](int64_t, int64_t, int64_t) {});
  }
};

struct SegmentMaxGrad {
  template <class T>
  void operator()(View<const int64_t> index, View<const int64_t> row_of, View<const T> dy,
                  View<T> dx, Attrs, Call& call) const {
    const int64_t d = dy.size(1);
    CheckIndex(index, dy.size(0));
    call.parallel_for(0, index.numel(), 8192 / std::max<int64_t>(1, d) + 1,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i != end; ++i) {
                          const int64_t* row = row_of.data() + index[i] * d;
                          const T* from = dy.data() + index[i] * d;
                          for (int64_t j = 0; j < d; ++j) {
                            dx[i * d + j] = row[j] == i ? from[j] : T(0);
                          }
                        }
                      });
  }
};

void InferSegments(Infer& ctx) {
  ctx.check(ctx.dim("x") == 2 && ctx.dim("index") == 1 && ctx.size("x", 0) == ctx.size("index", 0),
            "expected x of rows and columns, and an index for each row");
  ctx.check(ctx.attr<int64_t>("segments") >= 0, "expected no negative number of segments");
  ctx.set("y", {ctx.attr<int64_t>("segments"), ctx.size("x", 1)});
}

OP("segment_sum(Tensor x, Tensor index, *, int segments) -> Tensor y")
    .doc("y[s] is the sum of the rows i of x with index[i] == s; 0 where there is none.")
    .infer(InferSegments)
    .kernel<float(float, int64_t), double(double, int64_t), half(half, int64_t),
            bfloat16(bfloat16, int64_t)>(SegmentSum())
    .sbp("S(1), B -> S(1)", "S(0), S(0) -> P")
    .gradient("dx = segment_gather(dy, index, segments=segments); dindex = None");

// `segments` is the number of rows of y. It is there for the gradient, which needs it.
OP("segment_gather(Tensor y, Tensor index, *, int segments) -> Tensor x")
    .doc("x[i] = y[index[i]].")
    .infer([](Infer& ctx) {
      ctx.check(ctx.dim("y") == 2 && ctx.dim("index") == 1 &&
                    ctx.size("y", 0) == ctx.attr<int64_t>("segments"),
                "expected y with a row for each segment, and an index");
      ctx.set("x", {ctx.size("index", 0), ctx.size("y", 1)});
    })
    .kernel<float(float, int64_t), double(double, int64_t), half(half, int64_t),
            bfloat16(bfloat16, int64_t)>(SegmentGather())
    .sbp("S(1), B -> S(1)", "B, S(0) -> S(0)")
    .gradient("dy = segment_sum(dx, index, segments=segments); dindex = None");

OP("segment_max(Tensor x, Tensor index, *, int segments) -> (Tensor y, Tensor row)")
    .doc(
        "The largest of the rows of each segment by column, and the row it is in: the first one. "
        "0 and -1 where a segment has none.")
    .infer([](Infer& ctx) {
      InferSegments(ctx);
      ctx.set<int64_t>("row", {ctx.attr<int64_t>("segments"), ctx.size("x", 1)});
    })
    .kernel<Outputs<float, int64_t>(float, int64_t), Outputs<double, int64_t>(double, int64_t)>(
        SegmentMax())
    .sbp("S(1), B -> S(1), S(1)")
    .gradient("dx = segment_max_grad(index, row, dy); dindex = None");

OP("segment_max_grad(Tensor index, Tensor row, Tensor dy) -> Tensor dx")
    .infer([](Infer& ctx) {
      ctx.check(ctx.dim("index") == 1 && ctx.dim("dy") == 2 && ctx.shape("row") == ctx.shape("dy"),
                "expected an index, and rows of the shape of dy");
      ctx.set("dx", {ctx.size("index", 0), ctx.size("dy", 1)}, ctx.dtype("dy"));
    })
    .kernel<float(int64_t, int64_t, float), double(int64_t, int64_t, double)>(SegmentMaxGrad());
