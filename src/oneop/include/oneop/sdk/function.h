// Callables kept by registrations and contexts; a lighter std::function.
#ifndef ONEOP_SDK_FUNCTION_H_
#define ONEOP_SDK_FUNCTION_H_

#include <type_traits>
#include <utility>

#include "oneop/sdk/config.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Calls `fn` and gives what the slot wants: authors return void, int or a base pointer where
// OneFlow's std::function would have converted.
template <class R, class F, class... A>
R CallAs(F& fn, A&&... args) {
  using Got = decltype(fn(std::forward<A>(args)...));
  if constexpr (std::is_void_v<R>) {
    fn(std::forward<A>(args)...);
  } else if constexpr (std::is_void_v<Got>) {
    fn(std::forward<A>(args)...);
    return R::Ok();
  } else if constexpr (std::is_arithmetic_v<R>) {
    return static_cast<R>(fn(std::forward<A>(args)...));
  } else {
    return fn(std::forward<A>(args)...);
  }
}

template <class Signature>
class Fn;

// Owns a copy of a callable. Movable, not copyable; empty until assigned.
template <class R, class... A>
class Fn<R(A...)> {
 public:
  Fn() = default;
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, Fn>>>
  Fn(F&& fn)  // NOLINT: implicit on purpose, as std::function
      : object_(new std::decay_t<F>(std::forward<F>(fn))),
        call_([](void* object, A... args) -> R {
          return CallAs<R>(*static_cast<std::decay_t<F>*>(object), std::forward<A>(args)...);
        }),
        destroy_([](void* object) { delete static_cast<std::decay_t<F>*>(object); }) {}
  Fn(Fn&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        call_(other.call_),
        destroy_(other.destroy_) {}
  Fn& operator=(Fn&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(call_, other.call_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~Fn() {
    if (object_ != nullptr) {
      destroy_(object_);
    }
  }

  explicit operator bool() const { return object_ != nullptr; }
  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_ = nullptr;
  R (*call_)(void*, A...) = nullptr;
  void (*destroy_)(void*) = nullptr;
};

template <class Signature>
class KeptFn;

// For registrations, which live as long as the library: never destroyed, which keeps their
// constructors small.
template <class R, class... A>
class KeptFn<R(A...)> {
 public:
  template <class F>
  void operator=(const F& fn) {
    object_ = new std::decay_t<const F&>(fn);
    call_ = [](void* object, A... args) -> R {
      return CallAs<R>(*static_cast<std::decay_t<const F&>*>(object), std::forward<A>(args)...);
    };
  }
  explicit operator bool() const { return object_ != nullptr; }
  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_ = nullptr;
  R (*call_)(void*, A...) = nullptr;
};

template <class Signature>
class FnRef;

// Refers to a callable that outlives the call it is passed to.
template <class R, class... A>
class FnRef<R(A...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, FnRef>>>
  FnRef(F&& fn)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(reinterpret_cast<const void*>(&fn))),
        call_([](void* object, A... args) -> R {
          return CallAs<R>(*static_cast<std::remove_reference_t<F>*>(object),
                           std::forward<A>(args)...);
        }) {}
  R operator()(A... args) const { return call_(object_, std::forward<A>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_FUNCTION_H_
