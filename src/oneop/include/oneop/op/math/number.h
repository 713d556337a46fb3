// Number<T>: an element inside a functor.
//
// It behaves as T, with two differences that functors need. Its functions are found by their plain
// names: exp(x) is oneop's, which vectorises, and never the C library's. And literals take its
// type: 0.5 * x stays a float where x is one.
#ifndef ONEOP_OP_MATH_NUMBER_H_
#define ONEOP_OP_MATH_NUMBER_H_

#include <cstdint>
#include <type_traits>

#include "oneop/sdk/config.h"

ONEOP_OP_INTERFACE

#if defined(__CUDACC__)
#define ONEOP_BOTH __host__ __device__ __forceinline__
#else
#define ONEOP_BOTH __attribute__((always_inline)) inline
#endif

namespace oneop ONEOP_HIDDEN {

template <class T>
struct Number {
  using type = T;
  T value;

  Number() = default;
  template <class U, class = std::enable_if_t<std::is_arithmetic_v<U>>>
  constexpr ONEOP_BOTH Number(U other)  // NOLINT: implicit, so that `x > 0 ? x : 0` has a type
      : value(static_cast<T>(other)) {}
  template <class U>
  constexpr ONEOP_BOTH explicit Number(Number<U> other) : value(static_cast<T>(other.value)) {}
  template <class U, class = std::enable_if_t<std::is_arithmetic_v<U>>>
  constexpr ONEOP_BOTH explicit operator U() const {
    return static_cast<U>(value);
  }
  ONEOP_BOTH Number operator-() const { return Number(static_cast<T>(-value)); }
  ONEOP_BOTH Number operator+() const { return *this; }
  template <class U>
  ONEOP_BOTH Number& operator+=(U o) {
    return *this = Number(*this + o);
  }
  template <class U>
  ONEOP_BOTH Number& operator-=(U o) {
    return *this = Number(*this - o);
  }
  template <class U>
  ONEOP_BOTH Number& operator*=(U o) {
    return *this = Number(*this * o);
  }
  template <class U>
  ONEOP_BOTH Number& operator/=(U o) {
    return *this = Number(*this / o);
  }
};

namespace op {

// What arithmetic of an element and a plain number gives: the element's type, unless that would
// cut off a fraction.
template <class T, class U>
using Mixed = std::conditional_t<std::is_integral_v<T> && std::is_floating_point_v<U>, U, T>;

template <class T>
struct IsNumber : std::false_type {};
template <class T>
struct IsNumber<Number<T>> : std::true_type {};

}  // namespace op

#define ONEOP_NUMBER_ARITHMETIC(sign)                                                       \
  template <class A, class B>                                                               \
  ONEOP_BOTH auto operator sign(Number<A> a, Number<B> b) {                                 \
    using C = std::common_type_t<A, B>;                                                     \
    return Number<C>(static_cast<C>(static_cast<C>(a.value) sign static_cast<C>(b.value))); \
  }                                                                                         \
  template <class A, class U, class = std::enable_if_t<std::is_arithmetic_v<U>>>            \
  ONEOP_BOTH auto operator sign(Number<A> a, U b) {                                         \
    return Number<op::Mixed<A, U>>(a) sign Number<op::Mixed<A, U>>(b);                      \
  }                                                                                         \
  template <class A, class U, class = std::enable_if_t<std::is_arithmetic_v<U>>>            \
  ONEOP_BOTH auto operator sign(U a, Number<A> b) {                                         \
    return Number<op::Mixed<A, U>>(a) sign Number<op::Mixed<A, U>>(b);                      \
  }
ONEOP_NUMBER_ARITHMETIC(+)
ONEOP_NUMBER_ARITHMETIC(-)
ONEOP_NUMBER_ARITHMETIC(*)
ONEOP_NUMBER_ARITHMETIC(/)
#undef ONEOP_NUMBER_ARITHMETIC

#define ONEOP_NUMBER_COMPARISON(sign)                                            \
  template <class A, class B>                                                    \
  ONEOP_BOTH bool operator sign(Number<A> a, Number<B> b) {                      \
    using C = std::common_type_t<A, B>;                                          \
    return static_cast<C>(a.value) sign static_cast<C>(b.value);                 \
  }                                                                              \
  template <class A, class U, class = std::enable_if_t<std::is_arithmetic_v<U>>> \
  ONEOP_BOTH bool operator sign(Number<A> a, U b) {                              \
    return Number<op::Mixed<A, U>>(a) sign Number<op::Mixed<A, U>>(b);           \
  }                                                                              \
  template <class A, class U, class = std::enable_if_t<std::is_arithmetic_v<U>>> \
  ONEOP_BOTH bool operator sign(U a, Number<A> b) {                              \
    return Number<op::Mixed<A, U>>(a) sign Number<op::Mixed<A, U>>(b);           \
  }
ONEOP_NUMBER_COMPARISON(<)
ONEOP_NUMBER_COMPARISON(<=)
ONEOP_NUMBER_COMPARISON(>)
ONEOP_NUMBER_COMPARISON(>=)
ONEOP_NUMBER_COMPARISON(==)
ONEOP_NUMBER_COMPARISON(!=)
#undef ONEOP_NUMBER_COMPARISON

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_MATH_NUMBER_H_
