// python_list.cpp: a list of each type, item by item.
#include "python/functions/python_list.h"

#include <torch/csrc/autograd/python_variable.h>

#include <utility>
#include <vector>

#include "interpreter/objects.h"
#include "python/functions/python_item.h"

namespace oneop {
namespace {

bool to_ints(int32_t element, PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<int64_t> ints;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    oneop_value one{};
    if (!number_from_python(element, PySequence_Fast_GET_ITEM(object, i), &one)) {
      return false;
    }
    ints.push_back(one.value.i);
  }
  value->kind = ONEOP_VALUE_INTS;
  value->value.list = memory->keep(std::move(ints));
  return true;
}

bool to_floats(int32_t element, PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<double> floats;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    oneop_value one{};
    if (!number_from_python(element, PySequence_Fast_GET_ITEM(object, i), &one)) {
      return false;
    }
    floats.push_back(one.value.f);
  }
  value->kind = ONEOP_VALUE_FLOATS;
  value->value.list = memory->keep(std::move(floats));
  return true;
}

bool to_strings(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<oneop_span> spans(PySequence_Fast_GET_SIZE(object));
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!text_from_python(PySequence_Fast_GET_ITEM(object, i), &spans[i])) {
      return false;
    }
  }
  value->kind = ONEOP_VALUE_STRINGS;
  value->value.list = memory->keep(std::move(spans));
  return true;
}

bool to_shapes(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<oneop_span> spans;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    oneop_value one{};
    if (!to_ints(ONEOP_TYPE_INT64, PySequence_Fast_GET_ITEM(object, i), &one, memory)) {
      return false;
    }
    spans.push_back(one.value.list);
  }
  value->kind = ONEOP_VALUE_SHAPES;
  value->value.list = memory->keep(std::move(spans));
  return true;
}

bool to_scalars(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<oneop_value> values(PySequence_Fast_GET_SIZE(object));
  for (size_t i = 0; i < values.size(); ++i) {
    if (!any_number_from_python(PySequence_Fast_GET_ITEM(object, i), &values[i])) {
      return false;
    }
  }
  value->kind = ONEOP_VALUE_SCALARS;
  value->value.list = memory->keep(std::move(values));
  return true;
}

bool to_dtypes(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<int64_t> codes(PySequence_Fast_GET_SIZE(object));
  for (size_t i = 0; i < codes.size(); ++i) {
    if (!dtype_from_python(PySequence_Fast_GET_ITEM(object, i), &codes[i])) {
      return false;
    }
  }
  value->kind = ONEOP_VALUE_DTYPES;
  value->value.list = memory->keep(std::move(codes));
  return true;
}

}  // namespace

bool tensors_from_python(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<oneop_handle> handles;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (!THPVariable_Check(item)) {
      return false;
    }
    handles.push_back(THPVariable_Unpack(item).unsafeGetTensorImpl());
  }
  value->kind = ONEOP_VALUE_TENSORS;
  value->value.list = memory->keep(std::move(handles));
  return true;
}

bool list_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                      ValueMemory* memory) {
  switch (arg.type) {
    case ONEOP_TYPE_INT32_LIST:
      return to_ints(ONEOP_TYPE_INT32, object, value, memory);
    case ONEOP_TYPE_INT64_LIST:
    case ONEOP_TYPE_SHAPE:
      return to_ints(ONEOP_TYPE_INT64, object, value, memory);
    case ONEOP_TYPE_BOOL_LIST:
      return to_ints(ONEOP_TYPE_BOOL, object, value, memory);
    case ONEOP_TYPE_FLOAT_LIST:
      return to_floats(ONEOP_TYPE_FLOAT, object, value, memory);
    case ONEOP_TYPE_DOUBLE_LIST:
      return to_floats(ONEOP_TYPE_DOUBLE, object, value, memory);
    case ONEOP_TYPE_STRING_LIST:
      return to_strings(object, value, memory);
    case ONEOP_TYPE_SHAPE_LIST:
      return to_shapes(object, value, memory);
    case ONEOP_TYPE_SCALAR_LIST:
      return to_scalars(object, value, memory);
    case ONEOP_TYPE_DTYPE_LIST:
      return to_dtypes(object, value, memory);
    default:
      return false;
  }
}

bool spread_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                        ValueMemory* memory) {
  PyObject* list = PyList_New(arg.list_size);
  for (int32_t i = 0; i < arg.list_size; ++i) {
    PyList_SET_ITEM(list, i, Py_NewRef(object));
  }
  // Only numbers are spread: nothing points into the list.
  const bool fits = list_from_python(arg, list, value, memory);
  Py_DECREF(list);
  return fits;
}

}  // namespace oneop
