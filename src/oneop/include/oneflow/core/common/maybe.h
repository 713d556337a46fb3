// Maybe<T>, a value or an error.
#ifndef ONEFLOW_CORE_COMMON_MAYBE_H_
#define ONEFLOW_CORE_COMMON_MAYBE_H_

#include <memory>

#include "oneflow/core/common/check.h"
#include "oneflow/core/common/error.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

template <class T>
class Symbol;

template <class T>
struct IsScalarType : std::is_scalar<T> {};
template <class T>
struct IsScalarType<Symbol<T>> : std::true_type {};

// Scalars are held by value, references by pointer, everything else by shared_ptr: that is what
// JUST yields.
template <class T, class = void>
class Maybe {
 public:
  using Held = std::shared_ptr<T>;
  Maybe(const T& value) : data_(std::make_shared<T>(value)) {}
  Maybe(T&& value) : data_(std::make_shared<T>(std::move(value))) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Maybe(const std::shared_ptr<U>& value) : data_(value) {}
  template <class U, class = std::enable_if_t<std::is_convertible_v<U*, T*>>>
  Maybe(std::shared_ptr<U>&& value) : data_(std::move(value)) {}
  Maybe(Error error) : error_(std::move(error)) {}

  bool IsOk() const { return error_.ok(); }
  const Error& error() const { return error_; }
  Held OneopTake() { return std::move(data_); }
  Held OneopTake() const { return data_; }

 private:
  Held data_;
  Error error_;
};

template <class T>
class Maybe<T, std::enable_if_t<IsScalarType<T>::value>> {
 public:
  using Held = T;
  template <class U, class = std::enable_if_t<std::is_convertible_v<U, T>>>
  Maybe(const U& value) : data_(static_cast<T>(value)) {}
  Maybe(Error error) : error_(std::move(error)) {}

  bool IsOk() const { return error_.ok(); }
  const Error& error() const { return error_; }
  Held OneopTake() const { return data_; }

 private:
  T data_{};
  Error error_;
};

template <class T>
struct ReferenceBox {
  T* pointer;
};

template <class T>
class Maybe<T&, void> {
 public:
  using Held = ReferenceBox<T>;
  Maybe(T& value) : data_(&value) {}
  Maybe(Error error) : error_(std::move(error)) {}

  bool IsOk() const { return error_.ok(); }
  const Error& error() const { return error_; }
  Held OneopTake() const { return {data_}; }

 private:
  T* data_ = nullptr;
  Error error_;
};

template <>
class Maybe<void, void> {
 public:
  struct Held {};
  Maybe(Error error) : error_(std::move(error)) {}
  template <class Message, class = decltype(OneopErrorOf(std::declval<const Message&>()))>
  Maybe(const std::shared_ptr<Message>& error) : error_(OneopErrorOf(*error)) {}
  static Maybe Ok() { return Maybe(); }

  bool IsOk() const { return error_.ok(); }
  const Error& error() const { return error_; }
  Held OneopTake() const { return {}; }

 private:
  Maybe() = default;
  Error error_;
};

}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

template <class T>
T Unbox(T value) {
  return value;
}
template <class T>
T& Unbox(oneflow::ReferenceBox<T> box) {
  return *box.pointer;
}

inline void ThrowIfError(const oneflow::Maybe<void>& result) {
  if (!result.IsOk()) {
    Throw(result.error());
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

// A statement expression, so that the error can leave the author's function.
#define JUST(...)                                              \
  ::oneop::sdk::Unbox(({                                       \
    auto&& oneop_maybe = (__VA_ARGS__);                        \
    if (!oneop_maybe.IsOk()) {                                 \
      return ::oneflow::Error(oneop_maybe.error())             \
          .From("JUST(" #__VA_ARGS__ ")", __FILE__, __LINE__); \
    }                                                          \
    oneop_maybe.OneopTake();                                   \
  }))

#define JUST_MSG(value, ...)                                               \
  ::oneop::sdk::Unbox(({                                                   \
    auto&& oneop_maybe = (value);                                          \
    if (!oneop_maybe.IsOk()) {                                             \
      return (::oneflow::Error(oneop_maybe.error()) << " " << __VA_ARGS__) \
          .From("JUST_MSG(" #value ")", __FILE__, __LINE__);               \
    }                                                                      \
    oneop_maybe.OneopTake();                                               \
  }))

#define CHECK_JUST(...)                                                                   \
  ::oneop::sdk::Unbox(({                                                                  \
    auto&& oneop_maybe = (__VA_ARGS__);                                                   \
    if (!oneop_maybe.IsOk()) {                                                            \
      ::oneop::sdk::Throw(::oneflow::Error(oneop_maybe.error())                           \
                              .From("CHECK_JUST(" #__VA_ARGS__ ")", __FILE__, __LINE__)); \
    }                                                                                     \
    oneop_maybe.OneopTake();                                                              \
  }))

#define TRY(...) (__VA_ARGS__)

#define OF_RETURN_IF_ERROR(...)                                              \
  do {                                                                       \
    auto&& oneop_maybe = (__VA_ARGS__);                                      \
    if (!oneop_maybe.IsOk()) {                                               \
      return ::oneflow::Error(oneop_maybe.error())                           \
          .From("OF_RETURN_IF_ERROR(" #__VA_ARGS__ ")", __FILE__, __LINE__); \
    }                                                                        \
  } while (0)

#endif  // ONEFLOW_CORE_COMMON_MAYBE_H_
