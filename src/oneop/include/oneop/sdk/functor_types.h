// The types of a functor, as the C++ compiler knows them, in the words of a signature.
#ifndef ONEOP_SDK_FUNCTOR_TYPES_H_
#define ONEOP_SDK_FUNCTOR_TYPES_H_

#include "oneop/sdk/value.h"
#include "oneop/sdk/value_kinds.h"

namespace oneflow ONEOP_HIDDEN {
class SbpParallel;
namespace one {
class OpExpr;
namespace functional {
class TensorIndex;
}
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// A parameter: its type, as oneop_function_arg has it, and whether None is a value of it.
struct ParamType {
  int32_t type;
  bool is_optional;
};

template <class T>
constexpr int32_t TypeCode() {
  using oneflow::Scalar;
  using oneflow::Symbol;
  if constexpr (std::is_same_v<T, bool>) {
    return ONEOP_TYPE_BOOL;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4) {
    return ONEOP_TYPE_INT32;
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8) {
    return ONEOP_TYPE_INT64;
  } else if constexpr (std::is_same_v<T, float>) {
    return ONEOP_TYPE_FLOAT;
  } else if constexpr (std::is_same_v<T, double>) {
    return ONEOP_TYPE_DOUBLE;
  } else if constexpr (std::is_same_v<T, std::shared_ptr<oneflow::one::Tensor>> ||
                       std::is_same_v<T, oneflow::one::Tensor>) {
    return ONEOP_TYPE_TENSOR;
  } else if constexpr (std::is_same_v<T, oneflow::one::TensorTuple>) {
    return ONEOP_TYPE_TENSOR_TUPLE;
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return ONEOP_TYPE_SCALAR;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return ONEOP_TYPE_STRING;
  } else if constexpr (std::is_same_v<T, std::vector<int32_t>>) {
    return ONEOP_TYPE_INT32_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
    return ONEOP_TYPE_INT64_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<float>>) {
    return ONEOP_TYPE_FLOAT_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<double>>) {
    return ONEOP_TYPE_DOUBLE_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    return ONEOP_TYPE_BOOL_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return ONEOP_TYPE_STRING_LIST;
  } else if constexpr (std::is_same_v<T, std::vector<Scalar>>) {
    return ONEOP_TYPE_SCALAR_LIST;
  } else if constexpr (std::is_same_v<T, oneflow::DataType> ||
                       std::is_same_v<T, Symbol<oneflow::DType>>) {
    return ONEOP_TYPE_DTYPE;
  } else if constexpr (std::is_same_v<T, std::vector<oneflow::DataType>> ||
                       std::is_same_v<T, std::vector<Symbol<oneflow::DType>>>) {
    return ONEOP_TYPE_DTYPE_LIST;
  } else if constexpr (std::is_same_v<T, oneflow::Shape>) {
    return ONEOP_TYPE_SHAPE;
  } else if constexpr (std::is_same_v<T, std::vector<oneflow::Shape>>) {
    return ONEOP_TYPE_SHAPE_LIST;
  } else if constexpr (std::is_same_v<T, Symbol<oneflow::Device>>) {
    return ONEOP_TYPE_DEVICE;
  } else if constexpr (std::is_same_v<T, std::shared_ptr<oneflow::one::Generator>> ||
                       std::is_same_v<T, oneflow::one::Generator>) {
    return ONEOP_TYPE_GENERATOR;
  } else if constexpr (std::is_void_v<T>) {
    return ONEOP_TYPE_VOID;
  } else {
    return -1;
  }
}

template <class T>
struct ParamTypeOf {
  static constexpr ParamType kType{TypeCode<T>(), false};
};
template <class T>
struct ParamTypeOf<oneflow::Optional<T>> {
  static constexpr ParamType kType{TypeCode<T>(), true};
};

// A type that signatures name and nobody can give a value of: see FOREIGN in
// functional/signature.py.
template <class T>
struct IsForeign : std::false_type {};
template <>
struct IsForeign<oneflow::Symbol<oneflow::ParallelDesc>> : std::true_type {};
template <>
struct IsForeign<oneflow::Symbol<oneflow::SbpParallel>> : std::true_type {};
template <>
struct IsForeign<oneflow::one::functional::TensorIndex> : std::true_type {};
template <>
struct IsForeign<std::shared_ptr<oneflow::one::OpExpr>> : std::true_type {};
template <class T>
struct IsForeign<std::vector<T>> : IsForeign<T> {};
template <class T>
struct IsForeign<oneflow::Optional<T>> : IsForeign<T> {};

// Maybe<T> returns a T.
template <class R>
struct ReturnTypeOf;
template <class T>
struct ReturnTypeOf<oneflow::Maybe<T>> {
  static constexpr int32_t kType = TypeCode<T>();
  static_assert(kType >= 0,
                "a functor returns Maybe<T> with a T that no signature has: see the returns in "
                "docs/functional.md");
};

// Enumerators of torch are passed as ints.
inline int32_t PassedType(int32_t type) {
  return type == ONEOP_TYPE_LAYOUT || type == ONEOP_TYPE_MEMORY_FORMAT ? ONEOP_TYPE_INT32 : type;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_FUNCTOR_TYPES_H_
