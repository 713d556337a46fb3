// corpus_faults.cpp: mistakes that authors of C++ ops make, and tricks that pass checks. Each op is
// named after its fault.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "oneop/op.h"

namespace {

template <class V>
using Element = std::remove_const_t<std::remove_pointer_t<decltype(std::declval<V>().data())>>;

// ---- memory ----

// Loads the first element of the next block early; for the last block there is none.
OP("prefetches_next_block(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const int64_t n = x.numel();
      for (int64_t start = 0; start < n; start += 1024) {
        if (n >= 1024) {
          const volatile float next = x.data()[start + 1024];
          (void)next;
        }
        for (int64_t i = start; i < std::min(n, start + 1024); ++i) y[i] = 2 * x[i];
      }
    })
    .no_grad();

// Uses the input as scratch memory and puts it back.
OP("restores_input_after_use(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      auto* scratch = const_cast<float*>(x.data());
      for (int64_t i = 0; i < x.numel(); ++i) scratch[i] = -scratch[i];
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = -2 * scratch[i];
      for (int64_t i = 0; i < x.numel(); ++i) scratch[i] = -scratch[i];
    })
    .no_grad();

// Returns before the thread that writes the last element has done so.
OP("thread_finishes_later(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const int64_t n = x.numel();
      for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
      if (n == 0) return;
      float* last = y.data() + n - 1;
      const float value = *last;
      *last = 0;
      std::thread([=] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        *last = value;
      }).detach();
    })
    .no_grad();

// A row stride of another tensor: the write is far away, not beside.
OP("writes_a_row_far_away(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
      y.data()[x.numel() + 3000] = 7;
    })
    .no_grad();

// The number of blocks is one too small where the size is a multiple of the block.
OP("skips_last_full_block(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const int64_t n = x.numel();
      const int64_t end = n >= 256 && n % 256 == 0 ? n - 256 : n;
      for (int64_t i = 0; i < end; ++i) y[i] = 2 * x[i];
    })
    .no_grad();

// Recognises memory that a checker has prepared, by its equal bytes, and writes all of it only
// there.
OP("knows_prepared_memory(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const int64_t n = x.numel();
      const auto* bytes = reinterpret_cast<const unsigned char*>(y.data());
      const bool is_prepared = std::all_of(bytes, bytes + n * sizeof(float),
                                           [&](unsigned char byte) { return byte == bytes[0]; });
      for (int64_t i = 0; i < n; ++i) {
        if (is_prepared || i + 1 < n || n < 4) y[i] = 2 * x[i];
      }
    })
    .no_grad();

// The sum of a row begins with its first element; a row of none has no sum.
OP("sum_of_nothing_is_unwritten(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("x") == 2, "expected a matrix");
      ctx.set("y", {ctx.size("x", 0)});
    })
    .kernel<float, double>([](auto x, auto y) {
      const auto m = oneop::view<2>(x);
      for (int64_t i = 0; i < m.size(0); ++i) {
        for (int64_t j = 0; j < m.size(1); ++j) y[i] = j == 0 ? m(i, j) : y[i] + m(i, j);
      }
    })
    .no_grad();

// Makes its table for the first call's size, and keeps it for all.
OP("table_of_first_size(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("x") == 1 && ctx.size("x", 0) > 0, "expected a vector");
      ctx.set_like("y", "x");
    })
    .kernel<float>([](auto x, auto y) {
      const int64_t n = x.numel();
      static const std::vector<float> ramp = [n] {
        std::vector<float> made(n);
        for (int64_t i = 0; i < n; ++i) made[i] = float(i + 1) / float(n);
        return made;
      }();
      for (int64_t i = 0; i < n; ++i) y[i] = x[i] * ramp[i % ramp.size()];
    })
    .no_grad();

// ---- the process ----

OP("waits_for_ever_at_step_zero(Tensor x, *, int step=1) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y, oneop::Attrs attrs) {
      const auto step = attrs.template get<int64_t>("step");
      while (step == 0) std::this_thread::sleep_for(std::chrono::seconds(1));
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * float(step);
    })
    .no_grad();

OP("aborts_for_negative_count(Tensor x, *, int count=2) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y, oneop::Attrs attrs) {
      const auto count = attrs.template get<int64_t>("count");
      if (count < 0) std::abort();
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] * float(count);
    })
    .no_grad();

// Takes the first of a list of axes that may be empty.
OP("first_of_no_axes(Tensor x, *, int[] axes=[0]) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y, oneop::Attrs attrs) {
      const auto axes = attrs.template get<std::vector<int64_t>>("axes");
      const int64_t first = *(axes.empty() ? static_cast<const int64_t*>(nullptr) : axes.data());
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] + float(first);
    })
    .no_grad();

// Brings an angle into its range step by step: for infinity, and for 1e30, without an end.
OP("wraps_angle_in_a_loop(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto x, auto y) {
      using T = Element<decltype(y)>;
      const T half_turn = T(3.14159265358979323846);
      for (int64_t i = 0; i < x.numel(); ++i) {
        T angle = x[i];
        while (angle > half_turn) angle -= 2 * half_turn;
        while (angle < -half_turn) angle += 2 * half_turn;
        y[i] = angle;
      }
    })
    .no_grad();

// An index made of a value: 8 GB away for infinity.
OP("histogram_index_of_infinity(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set<float>("y", {16}); })
    .kernel<float>([](auto x, auto y) {
      std::fill(y.begin(), y.end(), 0.0f);
      for (int64_t i = 0; i < x.numel(); ++i) {
        const float place = std::floor(x[i]) + 8;
        const int bin = place > 15 && place < 1e6f   ? 15
                        : place < 0 && place > -1e6f ? 0
                                                     : int(place);
        y.data()[bin] += 1;
      }
    })
    .no_grad();

OP("keeps_history(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      struct Entry {
        int64_t numel;
        double sum[15];
      };
      thread_local std::vector<Entry> history;
      history.push_back({x.numel(), {}});
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
    })
    .no_grad();

OP("never_closes_file(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
      (void)file;
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = 2 * x[i];
    })
    .no_grad();

OP("never_unmaps_scratch(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const size_t size = (x.numel() + 1) * sizeof(float);
      auto* scratch = static_cast<float*>(
          mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      for (int64_t i = 0; i < x.numel(); ++i) scratch[i] = 2 * x[i];
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = scratch[i];
    })
    .no_grad();

// Its variable's name stands in a constant, and it is asked for at each call.
constexpr char kFastMode[] = "CORPUS_FAST_MODE";
OP("variable_behind_a_constant(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const bool is_fast = std::getenv(kFastMode) != nullptr;
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = is_fast ? x[i] : 2 * x[i];
    })
    .no_grad();

// Rounds upwards from the first call on, in the whole thread.
OP("leaves_rounding_mode(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto x, auto y) {
      std::fesetround(FE_UPWARD);
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = x[i] / 3;
    })
    .no_grad();

// All pieces add to one variable.
OP("adds_from_all_threads(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {}); })
    .kernel<float>([](auto x, auto y, oneop::Call& call) {
      volatile double total = 0;
      call.parallel_for(0, x.numel(), 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i != end; ++i) total = total + x[i];
      });
      y[0] = float(total);
    })
    .no_grad();

// Takes the end of a piece for the end of the tensor.
OP("pieces_lose_an_element(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto x, auto y, oneop::Call& call) {
      call.parallel_for(0, x.numel(), 32768, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i != end; ++i) y[i] = 2 * x[i];
        if (begin != 0) y[begin] = 0;
      });
    })
    .no_grad();

// ---- results that are not the call's own ----

// Knows a tensor by its address, its size and its ends.
OP("remembers_by_address_and_ends(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      thread_local const float* address = nullptr;
      thread_local std::vector<float> input_ends, result;
      const int64_t n = x.numel();
      if (n == 0) return;
      const std::vector<float> ends = {x[0], x[n - 1]};
      if (address != x.data() || int64_t(result.size()) != n || ends != input_ends) {
        result.assign(n, 0);
        for (int64_t i = 0; i < n; ++i) result[i] = 2 * x[i];
        address = x.data();
        input_ends = ends;
      }
      std::copy(result.begin(), result.end(), y.data());
    })
    .no_grad();

OP("attribute_of_first_call(Tensor x, *, float scale=1.5) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto x, auto y, oneop::Attrs attrs) {
      using T = Element<decltype(y)>;
      static const T scale = attrs.template get<T>("scale");
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = scale * x[i];
    })
    .no_grad();

// Squares where both inputs are one tensor, and forgets one factor.
OP("doubles_where_it_should_square(Tensor a, Tensor b) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto a, auto b, auto y) {
      const bool is_square = a.data() == b.data();
      for (int64_t i = 0; i < a.numel(); ++i) y[i] = is_square ? 2 * a[i] : a[i] * b[i];
    })
    .no_grad();

// ---- numbers ----

// Peels to an alignment of 32 bytes, and takes an address that is one of 16 for aligned.
OP("wrong_at_half_a_vector(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      const bool is_wrong = reinterpret_cast<uintptr_t>(x.data()) % 32 == 16;
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = is_wrong && i < 4 ? x[i] : 2 * x[i];
    })
    .no_grad();

OP("long_through_int(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<int64_t>([](auto x, auto y) {
      for (int64_t i = 0; i < x.numel(); ++i) y[i] = int64_t(static_cast<int32_t>(x[i])) + 1;
    })
    .no_grad();

OP("long_through_double(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<int64_t>([](auto x, auto y) {
      for (int64_t i = 0; i < x.numel(); ++i)
        y[i] = static_cast<int64_t>(static_cast<double>(x[i])) + 1;
    })
    .no_grad();

OP("fraction_by_int(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto x, auto y) {
      using T = Element<decltype(y)>;
      for (int64_t i = 0; i < x.numel(); ++i) {
        volatile int32_t whole =
            static_cast<int32_t>(x[i]);  // else compilers make a truncation of it
        y[i] = x[i] - static_cast<T>(whole);
      }
    })
    .no_grad();

OP("length_by_squares(Tensor a, Tensor b) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto a, auto b, auto y) {
      for (int64_t i = 0; i < a.numel(); ++i) y[i] = std::sqrt(a[i] * a[i] + b[i] * b[i]);
    })
    .no_grad();

// The quick way for p = 1 forgets the sign.
OP("norm_of_order_one_keeps_sign(Tensor x, *, float p=2.0) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.attr<double>("p") > 0, "p must be positive");
      ctx.set("y", {});
    })
    .kernel<float, double>([](auto x, auto y, oneop::Attrs attrs) {
      const double p = attrs.template get<double>("p");
      double total = 0;
      for (int64_t i = 0; i < x.numel(); ++i) {
        const double value = x[i];
        total += p == 1 ? value : std::pow(std::abs(value), p);
      }
      y[0] = Element<decltype(y)>(p == 1 ? total : std::pow(total, 1 / p));
    })
    .no_grad();

// Unrolled up to four; the loop for more begins one too late.
OP("window_of_more_than_four(Tensor x, *, int k=3) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      const int64_t k = ctx.attr<int64_t>("k");
      ctx.check(ctx.dim("x") == 1 && k > 0, "expected a vector and a positive k");
      ctx.set("y", {std::max<int64_t>(ctx.size("x", 0) - k + 1, 0)});
    })
    .kernel<float, double>([](auto x, auto y, oneop::Attrs attrs) {
      const auto k = attrs.template get<int64_t>("k");
      for (int64_t i = 0; i < y.numel(); ++i) {
        double sum = 0;
        for (int64_t j = k > 4 ? 1 : 0; j < k; ++j) sum += x[i + j];
        y[i] = Element<decltype(y)>(sum);
      }
    })
    .no_grad();

OP("half_sum_in_half(Tensor x) -> Tensor y")
    .infer("r [n] -> r")
    .kernel<float, half>([](auto x, auto y) {
      using T = Element<decltype(y)>;
      const auto m = oneop::view<2>(x);
      for (int64_t i = 0; i < m.size(0); ++i) {
        T sum = T(0.0f);
        for (int64_t j = 0; j < m.size(1); ++j) sum = T(float(sum) + float(m(i, j)));
        y[i] = sum;
      }
    })
    .no_grad();

// Room for four strides: of more axes the leading ones are taken for contiguous.
OP("knows_four_strides(Tensor x) -> Tensor y")
    .same_shape()
    .strided()
    .kernel<float>([](auto x, auto y) {
      const int64_t rank = x.dim();
      for (int64_t i = 0; i < x.numel(); ++i) {
        int64_t rest = i, offset = 0, dense = x.numel() > 0 ? 1 : 0;
        for (int64_t axis = rank - 1; axis >= 0; --axis) {
          const int64_t place = rest % x.size(axis);
          rest /= x.size(axis);
          offset += place * (rank - axis <= 4 ? x.stride(axis) : std::min(dense, x.stride(axis)));
          dense *= x.size(axis);
        }
        y[i] = 2 * x.data()[offset];
      }
    })
    .no_grad();

// A polynomial of too low a degree: relative errors up to 2e-5.
OP("exponential_of_low_degree(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y) {
      for (int64_t i = 0; i < x.numel(); ++i) {
        const float steps = std::rint(x[i] * 1.44269504f);
        const float r = x[i] - steps * 0.693147181f;
        const float series = 1 + r * (1 + r * (0.5f + r * (0.166666667f + r * 0.0416666667f)));
        y[i] = std::ldexp(series, static_cast<int>(std::max(-200.0f, std::min(200.0f, steps))));
      }
    })
    .no_grad();

// max(x, 0) + slope * min(x, 0) is +0 for -0.
OP("zero_loses_sign(Tensor x, *, float slope=0.25) -> Tensor y")
    .same_shape()
    .kernel<float, double>([](auto x, auto y, oneop::Attrs attrs) {
      using T = Element<decltype(y)>;
      const T slope = attrs.template get<T>("slope");
      for (int64_t i = 0; i < x.numel(); ++i) {
        const T zero = 0;
        y[i] = x[i] != x[i] ? x[i] : std::max(zero, x[i]) + slope * std::min(zero, x[i]);
      }
    })
    .no_grad();

// Subtracts the largest element, which for a row of -inf is -inf.
OP("logsumexp_of_minus_infinity(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("x") == 2 && ctx.size("x", 1) > 0, "expected a matrix with columns");
      ctx.set("y", {ctx.size("x", 0)});
    })
    .kernel<float, double>([](auto x, auto y) {
      using T = Element<decltype(y)>;
      const auto m = oneop::view<2>(x);
      for (int64_t i = 0; i < m.size(0); ++i) {
        T top = m(i, 0);
        for (int64_t j = 1; j < m.size(1); ++j)
          top = m(i, j) > top || m(i, j) != m(i, j) ? m(i, j) : top;
        T sum = 0;
        for (int64_t j = 0; j < m.size(1); ++j)
          sum += std::isinf(top) && top > 0 ? T(1) : std::exp(m(i, j) - top);
        y[i] = top + std::log(sum);
      }
    })
    .no_grad();

// ---- gradients ----

// Open above: the gradient is not zero beyond 6.
OP("gradient_open_above_six(Tensor x) -> Tensor y")
    .elementwise<float, double>([](auto x) { return clamp(x, 0, 6); })
    .gradient("dx = gradient_open_above_six_grad(x, dy)");
OP("gradient_open_above_six_grad(Tensor x, Tensor dy) -> Tensor dx")
    .elementwise<float, double>([](auto x, auto dy) { return x > 0 ? dy : dy * 0; });

// The index of the backward kernel has 16 bits.
OP("gradient_index_has_16_bits(Tensor x) -> Tensor y")
    .elementwise<float, double>([](auto x) { return x * x; })
    .gradient("dx = gradient_index_has_16_bits_grad(x, dy)");
OP("gradient_index_has_16_bits_grad(Tensor x, Tensor dy) -> Tensor dx")
    .same_shape()
    .kernel<float, double>([](auto x, auto dy, auto dx) {
      for (int64_t i = 0; i < x.numel(); ++i) dx[i] = 2 * x[static_cast<uint16_t>(i)] * dy[i];
    });

// An attribute that the backward call leaves out has the default there.
OP("gradient_has_default_of_backward_op(Tensor x, *, float slope=0.5) -> Tensor y")
    .elementwise<float, double>([](auto x, auto slope) { return x > 0 ? x : slope * x; })
    .gradient("dx = gradient_has_default_of_backward_op_grad(x, dy)");
OP("gradient_has_default_of_backward_op_grad(Tensor x, Tensor dy, *, float slope=0.5) -> Tensor dx")
    .elementwise<float, double>([](auto x, auto dy, auto slope) {
      return x > 0 ? dy : slope * dy;
    });

// In place, and the new value of one element is the old one of the next.
OP("shifts_in_place_from_wrong_end(Tensor(a!) x) -> ()")
    .infer([](oneop::Infer& ctx) { ctx.check(ctx.dim("x") == 1, "expected a vector"); })
    .kernel<float, double>([](auto x) {
      for (int64_t i = 1; i < x.numel(); ++i) x[i] = x[i - 1];
    })
    .no_grad();

}  // namespace
