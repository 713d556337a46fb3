// Optional<T>: an argument that may be None. Tensors and other large values are held by shared_ptr.
#ifndef ONEFLOW_CORE_COMMON_OPTIONAL_H_
#define ONEFLOW_CORE_COMMON_OPTIONAL_H_

#include <memory>

#include "oneflow/core/common/maybe.h"

namespace oneflow ONEOP_HIDDEN {

struct NullOptType {};
inline constexpr NullOptType NullOpt{};

template <class T>
class Optional {
 public:
  static constexpr bool kByValue = std::is_scalar_v<T> || IsScalarType<T>::value;
  using Held = std::conditional_t<kByValue, T, std::shared_ptr<T>>;

  Optional() = default;
  Optional(NullOptType) {}  // NOLINT: implicit, as OneFlow
  Optional(const T& value)  // NOLINT
      : has_(true) {
    if constexpr (kByValue) {
      value_ = value;
    } else if constexpr (std::is_copy_constructible_v<T>) {
      value_ = std::make_shared<T>(value);
    }
  }
  Optional(std::nullptr_t) {}  // NOLINT
  // A number for an optional Scalar.
  template <class N, std::enable_if_t<std::is_arithmetic_v<N> && std::is_class_v<T> &&
                                          std::is_convertible_v<N, T>,
                                      int> = 0>
  Optional(N number)  // NOLINT
      : Optional(T(number)) {}
  template <class U, class = std::enable_if_t<!kByValue && std::is_convertible_v<U*, T*>>>
  Optional(const std::shared_ptr<U>& value)  // NOLINT
      : value_(value), has_(value != nullptr) {}

  bool has_value() const { return has_; }
  explicit operator bool() const { return has_; }
  Maybe<T> value() const {
    if (!has_) {
      return Error(ONEOP_ERROR_VALUE, nullptr, 0) << "an optional argument has no value";
    }
    return value_;
  }
  Held value_or(const Held& other) const { return has_ ? value_ : other; }
  template <class U>
  T value_or(const U& other) const {
    if constexpr (kByValue) {
      return has_ ? value_ : static_cast<T>(other);
    } else {
      return has_ ? *value_ : T(other);
    }
  }
  const T* value_or_throw() const {
    if (!has_) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_VALUE, {"an optional argument has no value"});
    }
    if constexpr (kByValue) {
      return &value_;
    } else {
      return value_.get();
    }
  }
  friend bool operator==(const Optional& a, const T& b) {
    return a.has_ && *a.value_or_throw() == b;
  }
  friend bool operator!=(const Optional& a, const T& b) { return !(a == b); }
  // JUST(optional) is the value.
  bool IsOk() const { return has_; }
  Error error() const {
    return Error(ONEOP_ERROR_VALUE, nullptr, 0, "an optional argument has no value");
  }
  Held OneopTake() const { return value_; }

 private:
  Held value_{};
  bool has_ = false;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_OPTIONAL_H_
