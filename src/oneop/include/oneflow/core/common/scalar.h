// Scalar: a number of any kind. std::complex is known by its members: <complex> is slow to parse,
// and framework.h includes this file.
#ifndef ONEFLOW_CORE_COMMON_SCALAR_H_
#define ONEFLOW_CORE_COMMON_SCALAR_H_

#include "oneflow/core/common/error.h"
#include "oneflow/core/framework/attr_value.h"
#include "oneop/sdk/cpu/convert.h"

#if defined(__CUDACC__)
#define ONEOP_SCALAR_FN __host__ __device__
#else
#define ONEOP_SCALAR_FN
#endif

namespace oneop ONEOP_HIDDEN {
namespace sdk {

template <class T, class = void>
struct IsComplexType : std::false_type {};
template <class T>
struct IsComplexType<T,
                     std::void_t<typename T::value_type, decltype(std::declval<const T&>().real()),
                                 decltype(std::declval<const T&>().imag())>> : std::true_type {};

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
  template <class T, std::enable_if_t<::oneop::sdk::IsComplexType<T>::value, int> = 0>
  Scalar(const T& value) {  // NOLINT: implicit, as OneFlow
    value_.kind = ONEOP_VALUE_COMPLEX;
    value_.value.c[0] = static_cast<double>(value.real());
    value_.value.c[1] = static_cast<double>(value.imag());
  }
  explicit Scalar(const oneop_value& value) : value_(value) {}
  static Scalar OneopComplex(double real, double imag) {
    oneop_value value{};
    value.kind = ONEOP_VALUE_COMPLEX;
    value.value.c[0] = real;
    value.value.c[1] = imag;
    return Scalar(value);
  }

  ONEOP_SCALAR_FN bool IsBool() const { return value_.kind == ONEOP_VALUE_BOOL; }
  ONEOP_SCALAR_FN bool IsIntegral() const { return value_.kind == ONEOP_VALUE_INT || IsBool(); }
  ONEOP_SCALAR_FN bool IsFloatingPoint() const { return value_.kind == ONEOP_VALUE_FLOAT; }
  ONEOP_SCALAR_FN bool IsComplex() const { return value_.kind == ONEOP_VALUE_COMPLEX; }
  // A number type gets the real part; std::complex gets both.
  template <class T>
  ONEOP_SCALAR_FN T As() const {
    if constexpr (::oneop::sdk::IsComplexType<T>::value) {
      using R = typename T::value_type;
      return IsComplex() ? T(static_cast<R>(value_.value.c[0]), static_cast<R>(value_.value.c[1]))
                         : T(As<R>(), R(0));
    } else {
      if (IsComplex()) {
        return ::oneop::sdk::NumberAs<T>(value_.value.c[0]);
      }
      // A large integer does not go through a floating-point number, nor one through an integer.
      return IsFloatingPoint() ? ::oneop::sdk::NumberAs<T>(value_.value.f)
                               : ::oneop::sdk::NumberAs<T>(value_.value.i);
    }
  }
  template <class T>
  ONEOP_SCALAR_FN T Value() const {
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

namespace oneop ONEOP_HIDDEN {

using oneflow::Scalar;

namespace sdk {

// The value of the ABI has the type of the number; only a definition says that it is a scalar.
template <>
struct AttrTraits<oneflow::Scalar> {
  static constexpr AttrType kType = oneflow::kAtScalar;
  static oneflow::Scalar Get(const oneop_attr& attr) {
    switch (attr.type) {
      case ONEOP_ATTR_BOOL:
        return oneflow::Scalar(attr.value.i != 0);
      case ONEOP_ATTR_DOUBLE:
        return oneflow::Scalar(attr.value.f);
      case ONEOP_ATTR_COMPLEX_DOUBLE: {
        const auto* parts = static_cast<const double*>(attr.value.list.data);
        return oneflow::Scalar::OneopComplex(parts[0], parts[1]);
      }
      default:
        return oneflow::Scalar(attr.value.i);
    }
  }
  static void Put(oneop_attr* attr, const oneflow::Scalar& scalar, Arena* arena) {
    const oneop_value& value = scalar.OneopValue();
    if (scalar.IsComplex()) {
      attr->type = ONEOP_ATTR_COMPLEX_DOUBLE;
      attr->value.list = {arena->Copy(value.value.c, sizeof value.value.c), 2};
    } else if (scalar.IsFloatingPoint()) {
      attr->type = ONEOP_ATTR_DOUBLE;
      attr->value.f = value.value.f;
    } else {
      attr->type = scalar.IsBool() ? ONEOP_ATTR_BOOL : ONEOP_ATTR_INT64;
      attr->value.i = value.value.i;
    }
  }
};
template <>
struct TakesType<oneflow::Scalar> {
  static bool Is(int32_t type) {
    return type == ONEOP_ATTR_INT64 || type == ONEOP_ATTR_DOUBLE || type == ONEOP_ATTR_BOOL ||
           type == ONEOP_ATTR_COMPLEX_DOUBLE;
  }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SCALAR_H_
