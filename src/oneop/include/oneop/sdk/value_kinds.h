// Which kinds of values the types of a signature take. Knows nothing but the ABI, so that the host
// and libraries judge alike.
#ifndef ONEOP_SDK_VALUE_KINDS_H_
#define ONEOP_SDK_VALUE_KINDS_H_

#include "oneop/abi.h"

namespace oneop {
namespace sdk {

// A type of the grammar: its name in a yaml file, the kind of value that it is passed as, and
// another kind that it takes too, because no value changes on the way (an int as a float).
struct ValueType {
  const char* name;
  int32_t kind;
  int32_t other_kind;
};

inline const ValueType& ValueTypeOf(int32_t type) {
  static const ValueType kTypes[] = {
      {"Void", ONEOP_VALUE_NONE, ONEOP_VALUE_NONE},
      {"Tensor", ONEOP_VALUE_TENSOR, ONEOP_VALUE_TENSOR},
      {"TensorTuple", ONEOP_VALUE_TENSORS, ONEOP_VALUE_TENSORS},
      {"Scalar", ONEOP_VALUE_FLOAT, ONEOP_VALUE_COMPLEX},
      {"Int32", ONEOP_VALUE_INT, ONEOP_VALUE_INT},
      {"Int64", ONEOP_VALUE_INT, ONEOP_VALUE_INT},
      {"Float", ONEOP_VALUE_FLOAT, ONEOP_VALUE_INT},
      {"Double", ONEOP_VALUE_FLOAT, ONEOP_VALUE_INT},
      {"Bool", ONEOP_VALUE_BOOL, ONEOP_VALUE_BOOL},
      {"String", ONEOP_VALUE_STRING, ONEOP_VALUE_STRING},
      {"Int32List", ONEOP_VALUE_INTS, ONEOP_VALUE_INTS},
      {"Int64List", ONEOP_VALUE_INTS, ONEOP_VALUE_INTS},
      {"FloatList", ONEOP_VALUE_FLOATS, ONEOP_VALUE_INTS},
      {"DoubleList", ONEOP_VALUE_FLOATS, ONEOP_VALUE_INTS},
      {"BoolList", ONEOP_VALUE_INTS, ONEOP_VALUE_INTS},
      {"StringList", ONEOP_VALUE_STRINGS, ONEOP_VALUE_STRINGS},
      {"ScalarList", ONEOP_VALUE_SCALARS, ONEOP_VALUE_SCALARS},
      {"DataType", ONEOP_VALUE_DTYPE, ONEOP_VALUE_DTYPE},
      {"DataTypeList", ONEOP_VALUE_DTYPES, ONEOP_VALUE_DTYPES},
      {"Shape", ONEOP_VALUE_INTS, ONEOP_VALUE_INTS},
      {"ShapeList", ONEOP_VALUE_SHAPES, ONEOP_VALUE_SHAPES},
      {"Device", ONEOP_VALUE_DEVICE, ONEOP_VALUE_DEVICE},
      {"Generator", ONEOP_VALUE_GENERATOR, ONEOP_VALUE_GENERATOR},
      {"Layout", ONEOP_VALUE_INT, ONEOP_VALUE_INT},
      {"MemoryFormat", ONEOP_VALUE_INT, ONEOP_VALUE_INT},
  };
  static const ValueType kUnknown = {"an unknown type", -1, -1};
  const bool is_known = type >= 0 && type < static_cast<int32_t>(sizeof kTypes / sizeof kTypes[0]);
  return is_known ? kTypes[type] : kUnknown;
}

// How well a value fits a parameter: 0 not at all, 1 by widening it, 2 as it is.
inline int32_t FitOf(int32_t type, bool is_optional, const oneop_value& value) {
  if (value.kind == ONEOP_VALUE_NONE) {
    return is_optional ? 2 : 0;
  }
  const ValueType& known = ValueTypeOf(type);
  const bool is_number = value.kind == ONEOP_VALUE_INT || value.kind == ONEOP_VALUE_FLOAT ||
                         value.kind == ONEOP_VALUE_BOOL || value.kind == ONEOP_VALUE_COMPLEX;
  if (type == ONEOP_TYPE_SCALAR) {
    return is_number ? 1 : 0;
  }
  if (value.kind == known.kind) {
    return 2;
  }
  const bool takes_ints = known.kind == ONEOP_VALUE_INT || known.other_kind == ONEOP_VALUE_INT;
  return value.kind == known.other_kind || (value.kind == ONEOP_VALUE_BOOL && takes_ints) ? 1 : 0;
}

}  // namespace sdk
}  // namespace oneop

#endif  // ONEOP_SDK_VALUE_KINDS_H_
