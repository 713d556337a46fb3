// From a data type that is known at run time to the C++ type.
#ifndef ONEOP_SDK_CPU_TYPES_H_
#define ONEOP_SDK_CPU_TYPES_H_

#include "oneop/sdk/cpu/limits.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

template <class T>
struct TypeTag {
  using type = T;
};

// fn(TypeTag<T>()) for the type that holds numbers of `code`; false where there is none.
template <class F>
bool WithNumberType(oneflow::DataType code, const F& fn) {
  switch (static_cast<int32_t>(code)) {
#define ONEOP_TYPE_CASE(name, cpp) \
  case oneflow::name:              \
    fn(TypeTag<cpp>());            \
    return true;
    ONEOP_TYPE_CASE(kFloat, float)
    ONEOP_TYPE_CASE(kDouble, double)
    ONEOP_TYPE_CASE(kFloat16, oneflow::float16)
    ONEOP_TYPE_CASE(kBFloat16, oneflow::bfloat16)
    ONEOP_TYPE_CASE(kInt8, int8_t)
    ONEOP_TYPE_CASE(kInt16, int16_t)
    ONEOP_TYPE_CASE(kInt32, int32_t)
    ONEOP_TYPE_CASE(kInt64, int64_t)
    ONEOP_TYPE_CASE(kUInt8, uint8_t)
    ONEOP_TYPE_CASE(kUInt16, uint16_t)
    ONEOP_TYPE_CASE(kUInt32, uint32_t)
    ONEOP_TYPE_CASE(kUInt64, uint64_t)
    ONEOP_TYPE_CASE(kChar, char)
    ONEOP_TYPE_CASE(kBool, bool)
#undef ONEOP_TYPE_CASE
    default:
      return false;
  }
}
template <class F>
bool WithFloatType(oneflow::DataType code, const F& fn) {
  return WithNumberType(code,
                        [&](auto tag) {
                          using T = typename decltype(tag)::type;
                          if constexpr (oneflow::IsFloating<T>::value) {
                            fn(tag);
                          }
                        }) &&
         oneflow::IsFloatingDataType(code);
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CPU_TYPES_H_
