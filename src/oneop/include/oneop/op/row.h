// Row<T>: one row of a tensor inside a functor, and reductions over it.
#ifndef ONEOP_OP_ROW_H_
#define ONEOP_OP_ROW_H_

#include "oneop/op/math/functions.h"
#include "oneop/sdk/frame.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {

// T is a Number, const for an input.
template <class T>
struct Row {
  using Element = std::remove_const_t<T>;
  T* elements;
  int64_t length;

  int64_t size() const { return length; }
  T& operator[](int64_t i) const { return elements[i]; }
  T* begin() const { return elements; }
  T* end() const { return elements + length; }
  auto* data() const {
    using Plain = typename Element::type;
    return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Plain, Plain>*>(elements);
  }
};

namespace op {

// Partial results side by side: the compiler may not reorder a sum of floats, so the order is
// chosen here to be that of vector lanes. It does not depend on threads.
constexpr int64_t kLanes = 32;

template <class N, class Value, class Join>
ONEOP_INLINE N Reduce(int64_t length, N start, const Value& value, const Join& join) {
  N lanes[kLanes];
  for (int64_t k = 0; k < kLanes; ++k) {
    lanes[k] = start;
  }
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
#if !defined(__CUDACC__)
#pragma GCC ivdep
#endif
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] = join(lanes[k], value(i + k));
    }
  }
  for (int64_t k = 0; i < length; ++i, ++k) {
    lanes[k] = join(lanes[k], value(i));
  }
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t k = 0; k < width; ++k) {
      lanes[k] = join(lanes[k], lanes[k + width]);
    }
  }
  return lanes[0];
}

// Rows that are walked through together have one length; compared once, before the loop.
[[noreturn]] ONEOP_COLD inline void ThrowLengths(const char* function, int64_t wanted,
                                                 int64_t found) {
  sdk::ThrowText(ONEOP_ERROR_VALUE, {"its functor gives ", function,
                                     "() rows of different lengths: ", sdk::Digits(wanted), " and ",
                                     sdk::Digits(found)});
}
ONEOP_INLINE void CheckLength(const char* function, int64_t wanted, int64_t found) {
  if (!ONEOP_LIKELY(wanted == found)) {
    ThrowLengths(function, wanted, found);
  }
}

}  // namespace op

// The sum of fn(x[i], ...) for rows of one length, or of the elements:
// sum(x, [](auto v) { return v * v; }).
template <class T, class F, class... Rest>
ONEOP_INLINE auto sum(const Row<T>& x, const F& fn, const Row<Rest>&... rest) {
  static_cast<void>((op::CheckLength("sum", x.length, rest.length), ...));
  using N = typename Row<T>::Element;
  return op::Reduce(
      x.length, N(0), [&](int64_t i) { return N(fn(N(x.elements[i]), rest.elements[i]...)); },
      [](N a, N b) { return a + b; });
}
template <class T>
ONEOP_INLINE auto sum(const Row<T>& x) {
  return sum(x, [](auto value) { return value; });
}
template <class T, class U>
ONEOP_INLINE auto dot(const Row<T>& x, const Row<U>& y) {
  op::CheckLength("dot", x.length, y.length);
  using N = typename Row<T>::Element;
  return op::Reduce(
      x.length, N(0), [&](int64_t i) { return N(x.elements[i] * y.elements[i]); },
      [](N a, N b) { return a + b; });
}
// Of no elements: the number that loses against every other. A NaN wins.
template <class T>
ONEOP_INLINE auto max(const Row<T>& x) {
  using N = typename Row<T>::Element;
  return op::Reduce(
      x.length, N(-__builtin_inf()), [&](int64_t i) { return N(x.elements[i]); },
      [](N a, N b) { return max(a, b); });
}
template <class T>
ONEOP_INLINE auto min(const Row<T>& x) {
  using N = typename Row<T>::Element;
  return op::Reduce(
      x.length, N(__builtin_inf()), [&](int64_t i) { return N(x.elements[i]); },
      [](N a, N b) { return min(a, b); });
}
// y[i] = fn(x[i], ...) for rows of one length; vectorised as .elementwise is.
template <class T, class F, class... Rest>
ONEOP_INLINE void map(const Row<T>& y, const F& fn, const Row<Rest>&... x) {
  static_cast<void>((op::CheckLength("map", y.length, x.length), ...));
#if !defined(__CUDACC__)
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < y.length; ++i) {
    y.elements[i] = typename Row<T>::Element(fn(x.elements[i]...));
  }
}

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_ROW_H_
