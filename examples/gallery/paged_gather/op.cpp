// Pages of a KV cache side by side: y[b, t] = cache[table[b, t / page], t % page] for t below
// lengths[b], and 0 from there on. For attention kernels that want each sequence in one piece.
#include "../numbers.h"

using namespace oneop;

struct PagedGather {
  template <class T>
  void operator()(View<const T> cache, View<const int64_t> table, View<const int64_t> lengths,
                  View<T> y, Attrs, Call& call) const {
    const int64_t pages = cache.size(0), page = cache.size(1);
    const int64_t token = cache.size(2) * cache.size(3);  // elements of one
    const int64_t batch = y.size(0), length = y.size(1), columns = table.size(1);
    Check(lengths, length);
    const int64_t chunks = page == 0 ? 0 : (length + page - 1) / page;
    call.parallel_for(0, batch * chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i != end; ++i) {
        const int64_t b = i / chunks, first = i % chunks * page;
        const int64_t last = std::min(first + page, length);
        const int64_t filled = std::clamp<int64_t>(lengths[b], first, last);
        T* to = y.data() + (b * length + first) * token;
        if (filled > first) {
          const int64_t at = table[b * columns + i % chunks];
          if (at < 0 || at >= pages) {
            gallery::RefuseIndex("the table names a page that is not in the cache");
          }
          std::copy_n(cache.data() + at * page * token, (filled - first) * token, to);
        }
        std::fill_n(to + (filled - first) * token, (last - filled) * token, T(0));
      }
    });
  }

 private:
  static void Check(const View<const int64_t>& lengths, int64_t most) {
    for (const int64_t length : lengths) {
      if (length < 0 || length > most) {
        gallery::RefuseIndex("a length is not in [0, length]");
      }
    }
  }
};

OP("paged_gather(Tensor cache, Tensor table, Tensor lengths, *, int length) -> Tensor y")
    .doc(
        "The tokens of each sequence from a cache (page, slot, head, column), by the pages that "
        "table (sequence, page) names; zeros after lengths[sequence].")
    .infer([](Infer& ctx) {
      const int64_t length = ctx.attr<int64_t>("length");
      ctx.check(ctx.dim("cache") == 4 && ctx.dim("table") == 2 && ctx.dim("lengths") == 1 &&
                    ctx.size("table", 0) == ctx.size("lengths", 0),
                "expected cache (page, slot, head, column), table (sequence, page) and lengths "
                "(sequence)");
      ctx.check(length >= 0 && length <= ctx.size("table", 1) * ctx.size("cache", 1),
                "expected length of at most as many tokens as the pages of a sequence hold");
      ctx.set("y", {ctx.size("table", 0), length, ctx.size("cache", 2), ctx.size("cache", 3)});
    })
    .kernel<float(float, int64_t, int64_t), double(double, int64_t, int64_t),
            half(half, int64_t, int64_t), bfloat16(bfloat16, int64_t, int64_t),
            int8_t(int8_t, int64_t, int64_t)>(PagedGather())
    .sbp("B, S(0), S(0) -> S(0)", "S(2), B, B -> S(2)", "S(3), B, B -> S(3)")
    .no_grad();
