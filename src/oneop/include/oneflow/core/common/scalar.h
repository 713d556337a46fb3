// Scalar: a number of any kind.
#ifndef ONEFLOW_CORE_COMMON_SCALAR_H_
#define ONEFLOW_CORE_COMMON_SCALAR_H_

#include <complex>

#include "oneflow/core/common/error.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

template <class T>
struct IsComplexType : std::false_type {};
template <class T>
struct IsComplexType<std::complex<T>> : std::true_type {};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class Scalar {
 public:
  Scalar() : Scalar(int64_t{0}) {}
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  Scalar(T value) {  // NOLINT: implicit, as OneFlow
    if constexpr (std::is_floating_point_v<T>) {
      value_.kind = ONEOP_VALUE_FLOAT;
      value_.value.f = static_cast<double>(value);
    } else {
      value_.kind = std::is_same_v<T, bool> ? ONEOP_VALUE_BOOL : ONEOP_VALUE_INT;
      value_.value.i = static_cast<int64_t>(value);
    }
  }
  template <class T>
  Scalar(const std::complex<T>& value) {  // NOLINT: implicit, as OneFlow
    value_.kind = ONEOP_VALUE_COMPLEX;
    value_.value.c[0] = static_cast<double>(value.real());
    value_.value.c[1] = static_cast<double>(value.imag());
  }
  explicit Scalar(const oneop_value& value) : value_(value) {}

  bool IsBool() const { return value_.kind == ONEOP_VALUE_BOOL; }
  bool IsIntegral() const { return value_.kind == ONEOP_VALUE_INT || IsBool(); }
  bool IsFloatingPoint() const { return value_.kind == ONEOP_VALUE_FLOAT; }
  bool IsComplex() const { return value_.kind == ONEOP_VALUE_COMPLEX; }
  template <class T>
  T As() const {
    if constexpr (::oneop::sdk::IsComplexType<T>::value) {
      using R = typename T::value_type;
      return IsComplex() ? T(static_cast<R>(value_.value.c[0]), static_cast<R>(value_.value.c[1]))
                         : T(IsFloatingPoint() ? static_cast<R>(value_.value.f)
                                               : static_cast<R>(value_.value.i));
    } else if (IsComplex()) {
      return static_cast<T>(value_.value.c[0]);
    } else {
      return IsFloatingPoint() ? static_cast<T>(value_.value.f) : static_cast<T>(value_.value.i);
    }
  }
  template <class T>
  T Value() const {
    return As<T>();
  }
  // Whole where both are, as in C++.
  friend Scalar operator+(const Scalar& a, const Scalar& b) {
    return Scalar::IsReal(a, b) ? Scalar(a.As<double>() + b.As<double>())
                                : Scalar(a.As<int64_t>() + b.As<int64_t>());
  }
  friend Scalar operator-(const Scalar& a, const Scalar& b) {
    return Scalar::IsReal(a, b) ? Scalar(a.As<double>() - b.As<double>())
                                : Scalar(a.As<int64_t>() - b.As<int64_t>());
  }
  friend Scalar operator*(const Scalar& a, const Scalar& b) {
    return Scalar::IsReal(a, b) ? Scalar(a.As<double>() * b.As<double>())
                                : Scalar(a.As<int64_t>() * b.As<int64_t>());
  }
  friend Scalar operator/(const Scalar& a, const Scalar& b) {
    if (Scalar::IsReal(a, b)) {
      return a.As<double>() / b.As<double>();
    }
    if (b.As<int64_t>() == 0) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_VALUE, {"a whole number is divided by zero"});
    }
    return a.As<int64_t>() / b.As<int64_t>();
  }
  const oneop_value& OneopValue() const { return value_; }

 private:
  static bool IsReal(const Scalar& a, const Scalar& b) {
    if (a.IsComplex() || b.IsComplex()) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_TYPE, {"scalars that are complex are not computed with"});
    }
    return a.IsFloatingPoint() || b.IsFloatingPoint();
  }
  oneop_value value_{};
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SCALAR_H_
