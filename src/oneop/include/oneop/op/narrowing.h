// Whether a functor takes an element or an attribute as a type that cannot hold it.
//
// [](int x) is called for elements of int64_t without a word of the compiler, and cuts them off. So
// each parameter that has a type of its own, and is not auto, is asked for here.
#ifndef ONEOP_OP_NARROWING_H_
#define ONEOP_OP_NARROWING_H_

#include "oneop/op/types.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// A float loses digits, its fraction or its range, an integer its range. An integer as a float is
// no mistake: it is rounded, as it is in x + k.
template <class From, class To>
constexpr bool Narrows() {
  if constexpr (std::is_void_v<From> || std::is_same_v<From, bool> || std::is_same_v<From, To>) {
    return false;
  } else if constexpr (std::is_same_v<To, bool>) {
    return true;
  } else if constexpr (std::is_floating_point_v<From>) {
    return !std::is_floating_point_v<To> || sizeof(To) < sizeof(From);
  } else if constexpr (std::is_floating_point_v<To>) {
    return false;
  } else {
    return (std::is_signed_v<From> && !std::is_signed_v<To>) ||
           8 * sizeof(To) - std::is_signed_v<To> < 8 * sizeof(From) - std::is_signed_v<From>;
  }
}

// Arguments that become any number, or any that holds a From.
struct AnyNumber {
  template <class To, class = std::enable_if_t<std::is_arithmetic_v<To>>>
  operator To() const;
};
template <class From>
struct HeldNumber {
  template <class To, class = std::enable_if_t<std::is_arithmetic_v<To> && !Narrows<From, To>()>>
  operator To() const;
};

// Whether a call with `Probe` in place of one argument can be compiled. In braces it does not match
// auto, whose functor would otherwise be compiled with it.
template <class F, class Probe, class Before, class After, class = void>
struct TakesInBraces : std::false_type {};
template <class F, class Probe, class... B, class... A>
struct TakesInBraces<F, Probe, Types<B...>, Types<A...>,
                     std::void_t<decltype(std::declval<const F&>()(
                         std::declval<B>()..., {std::declval<Probe>()}, std::declval<A>()...))>>
    : std::true_type {};

// The number of the first argument that is narrowed, or -1. Args are the types of the arguments,
// Held those of the numbers in them, void for others.
template <class F, int kNumber, class Before, class Args, class Held>
struct Narrowed;
template <class F, int kNumber, class Before>
struct Narrowed<F, kNumber, Before, Types<>, Types<>> {
  static constexpr int kFirst = -1;
};
template <class F, int kNumber, class... B, class A, class... Args, class From, class... Held>
struct Narrowed<F, kNumber, Types<B...>, Types<A, Args...>, Types<From, Held...>> {
  static constexpr int First() {
    if constexpr (!std::is_void_v<From> && !std::is_same_v<From, bool>) {
      if constexpr (TakesInBraces<F, AnyNumber, Types<B...>, Types<Args...>>::value) {
        if constexpr (!TakesInBraces<F, HeldNumber<From>, Types<B...>, Types<Args...>>::value) {
          return kNumber;
        }
      }
    }
    return Narrowed<F, kNumber + 1, Types<B..., A>, Types<Args...>, Types<Held...>>::kFirst;
  }
  static constexpr int kFirst = First();
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_NARROWING_H_
