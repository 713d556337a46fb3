// Complex tensors and attributes. Not part of framework.h: <complex> is slow to parse.
#ifndef ONEFLOW_CORE_COMMON_COMPLEX_H_
#define ONEFLOW_CORE_COMMON_COMPLEX_H_

#include <complex>

#include "oneflow/core/framework/attr_value.h"

namespace oneflow ONEOP_HIDDEN {

template <>
struct GetDataType<std::complex<float>> {
  static constexpr DataType value = kComplex64;
};
template <>
struct GetDataType<std::complex<double>> {
  static constexpr DataType value = kComplex128;
};

}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

template <>
struct AttrTraits<std::complex<double>> {
  static constexpr AttrType kType = oneflow::kAtComplexDouble;
  static std::complex<double> Get(const oneop_attr& attr) {
    const double* parts = static_cast<const double*>(attr.value.list.data);
    return {parts[0], parts[1]};
  }
  static void Put(oneop_attr* attr, const std::complex<double>& value, Arena* arena) {
    const double parts[] = {value.real(), value.imag()};
    attr->value.list = {arena->Copy(parts, sizeof parts), 2};
  }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_COMPLEX_H_
