// python_value.cpp: which Python objects serve as which type of argument. Wider than attributes
// are: see docs/functional.md.
#include "python/calls/python_value.h"

#include <ATen/ATen.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cmath>
#include <limits>

#include "python/calls/python_attr.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// Where the argument fails: the element of a list, and what is wrong with it beside its type. Made
// only for a message; most signatures that are tried fail for their type alone.
std::string range_text(int32_t type, PyObject* object) {
  const bool is_int = PyLong_Check(object) && !PyBool_Check(object);
  switch (type) {
    case ONEOP_TYPE_INT32:
      return is_int ? "an int of 32 bits, -2147483648 to 2147483647" : "";
    case ONEOP_TYPE_INT64:
      return is_int ? "an int of 64 bits" : "";
    case ONEOP_TYPE_FLOAT:
      return PyFloat_Check(object) ? "within the range of float32" : "";
    default:
      return "";
  }
}

// The number in a tensor without dimensions, as a Python object would be it.
bool number_in_tensor(PyObject* object, oneop_value* value) {
  if (!THPVariable_Check(object)) {
    return false;
  }
  const at::Tensor& tensor = THPVariable_Unpack(object);
  if (tensor.dim() != 0 || tensor.is_meta() || !tensor.has_storage()) {
    return false;
  }
  const at::Scalar scalar = tensor.item();
  if (scalar.isFloatingPoint()) {
    value->kind = ONEOP_VALUE_FLOAT;
    value->value.f = scalar.toDouble();
  } else if (scalar.isComplex()) {
    value->kind = ONEOP_VALUE_COMPLEX;
    value->value.c[0] = scalar.toComplexDouble().real();
    value->value.c[1] = scalar.toComplexDouble().imag();
  } else {
    value->kind = scalar.isBoolean() ? ONEOP_VALUE_BOOL : ONEOP_VALUE_INT;
    value->value.i = scalar.toLong();
  }
  return true;
}

bool any_number(PyObject* object, oneop_value* value) {
  if (PyFloat_CheckExact(object)) {
    value->kind = ONEOP_VALUE_FLOAT;
    value->value.f = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) {
    value->kind = ONEOP_VALUE_BOOL;
    value->value.i = object == Py_True;
    return true;
  }
  if (PyUnicode_Check(object) || PyBytes_Check(object)) {
    return false;
  }
  if (THPVariable_Check(object)) {
    return number_in_tensor(object, value);
  }
  if (PyFloat_Check(object)) {  // numpy.float64
    value->kind = ONEOP_VALUE_FLOAT;
    value->value.f = PyFloat_AsDouble(object);
    return true;
  }
  if (PyComplex_Check(object)) {
    value->kind = ONEOP_VALUE_COMPLEX;
    value->value.c[0] = PyComplex_RealAsDouble(object);
    value->value.c[1] = PyComplex_ImagAsDouble(object);
    return true;
  }
  if (PyIndex_Check(object)) {
    PyObject* index = PyNumber_Index(object);
    if (index == nullptr) {
      PyErr_Clear();
      return false;
    }
    int overflow = 0;
    value->kind = ONEOP_VALUE_INT;
    value->value.i = PyLong_AsLongLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    return overflow == 0;
  }
  if (Py_TYPE(object)->tp_as_number == nullptr ||
      Py_TYPE(object)->tp_as_number->nb_float == nullptr) {
    return false;
  }
  value->kind = ONEOP_VALUE_FLOAT;  // numpy.float32
  value->value.f = PyFloat_AsDouble(object);
  if (PyErr_Occurred() == nullptr) {
    return true;
  }
  PyErr_Clear();
  return false;
}

// A finite number stays one: 1e300 is not infinity.
bool is_float32(double number) {
  return std::abs(number) <= std::numeric_limits<float>::max() || !std::isfinite(number);
}

bool to_number(int32_t type, PyObject* object, oneop_value* value) {
  if (!any_number(object, value)) {
    return false;
  }
  const bool integral = value->kind == ONEOP_VALUE_INT || value->kind == ONEOP_VALUE_BOOL;
  switch (type) {
    case ONEOP_TYPE_SCALAR:
      return true;
    case ONEOP_TYPE_FLOAT:
    case ONEOP_TYPE_DOUBLE:
      if (integral) {
        value->value.f = static_cast<double>(value->value.i);
      }
      if (value->kind == ONEOP_VALUE_COMPLEX) {
        return false;
      }
      value->kind = ONEOP_VALUE_FLOAT;
      return type == ONEOP_TYPE_DOUBLE || is_float32(value->value.f);
    case ONEOP_TYPE_BOOL:
      value->kind = ONEOP_VALUE_BOOL;
      return integral && (value->value.i == 0 || value->value.i == 1);
    case ONEOP_TYPE_INT32:
      value->kind = ONEOP_VALUE_INT;
      return integral && value->value.i >= std::numeric_limits<int32_t>::min() &&
             value->value.i <= std::numeric_limits<int32_t>::max();
    default:
      value->kind = ONEOP_VALUE_INT;
      return integral;
  }
}

// What is no tensor at first sight: to ask torch takes longer than the rest of a call's argument.
bool is_builtin(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || PyList_CheckExact(object) || PyTuple_CheckExact(object);
}

// The text of a str or bytes object, which lives as long as the object.
bool to_span(PyObject* object, oneop_span* span) {
  if (PyBytes_Check(object)) {
    *span = {PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object)};
    return true;
  }
  if (!PyUnicode_Check(object)) {
    return false;
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return false;
  }
  *span = {data, size};
  return true;
}

bool to_ints(int32_t element, PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<int64_t> ints;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    oneop_value one{};
    if (!to_number(element, PySequence_Fast_GET_ITEM(object, i), &one)) {
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
    if (!to_number(element, PySequence_Fast_GET_ITEM(object, i), &one)) {
      return false;
    }
    floats.push_back(one.value.f);
  }
  value->kind = ONEOP_VALUE_FLOATS;
  value->value.list = memory->keep(std::move(floats));
  return true;
}

bool to_tensors(PyObject* object, oneop_value* value, ValueMemory* memory) {
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

bool to_strings(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<oneop_span> spans(PySequence_Fast_GET_SIZE(object));
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!to_span(PySequence_Fast_GET_ITEM(object, i), &spans[i])) {
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
    if (!any_number(PySequence_Fast_GET_ITEM(object, i), &values[i])) {
      return false;
    }
  }
  value->kind = ONEOP_VALUE_SCALARS;
  value->value.list = memory->keep(std::move(values));
  return true;
}

bool to_dtype_code(PyObject* object, int64_t* code) {
  if (!THPDtype_Check(object)) {
    return false;
  }
  *code = to_abi(reinterpret_cast<THPDtype*>(object)->scalar_type);
  return *code != ONEOP_DTYPE_INVALID;
}

bool to_dtypes(PyObject* object, oneop_value* value, ValueMemory* memory) {
  if (!is_sequence(object)) {
    return false;
  }
  std::vector<int64_t> codes(PySequence_Fast_GET_SIZE(object));
  for (size_t i = 0; i < codes.size(); ++i) {
    if (!to_dtype_code(PySequence_Fast_GET_ITEM(object, i), &codes[i])) {
      return false;
    }
  }
  value->kind = ONEOP_VALUE_DTYPES;
  value->value.list = memory->keep(std::move(codes));
  return true;
}

bool to_device(PyObject* object, oneop_value* value, ValueMemory* memory) {
  c10::Device device(c10::kCPU);
  if (THPDevice_Check(object)) {
    device = reinterpret_cast<THPDevice*>(object)->device;
  } else if (PyUnicode_Check(object)) {
    try {
      device = c10::Device(PyUnicode_AsUTF8(object));
    } catch (const c10::Error&) {
      return false;
    }
  } else {
    return false;
  }
  value->kind = ONEOP_VALUE_DEVICE;
  value->value.list = memory->keep(
      std::vector<int64_t>{to_abi(device.type()), device.has_index() ? device.index() : 0});
  return true;
}

bool to_list(const FunctionArg& arg, PyObject* object, oneop_value* value, ValueMemory* memory) {
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

// A single number stands for a list of fixed size.
bool spread(const FunctionArg& arg, PyObject* object, oneop_value* value, ValueMemory* memory) {
  PyObject* list = PyList_New(arg.list_size);
  for (int32_t i = 0; i < arg.list_size; ++i) {
    PyList_SET_ITEM(list, i, Py_NewRef(object));
  }
  const bool fits =
      to_list(arg, list, value, memory);  // only numbers are spread: nothing points into the list
  Py_DECREF(list);
  return fits;
}

const char* plain_type_text(int32_t type) {
  switch (type) {
    case ONEOP_TYPE_TENSOR:
      return "Tensor";
    case ONEOP_TYPE_TENSOR_TUPLE:
      return "list of Tensors";
    case ONEOP_TYPE_SCALAR:
      return "scalar";
    case ONEOP_TYPE_INT32:
      return "int32";
    case ONEOP_TYPE_INT64:
      return "int";
    case ONEOP_TYPE_FLOAT:
    case ONEOP_TYPE_DOUBLE:
      return "float";
    case ONEOP_TYPE_BOOL:
      return "bool";
    case ONEOP_TYPE_STRING:
      return "str";
    case ONEOP_TYPE_INT32_LIST:
      return "list of int32";
    case ONEOP_TYPE_INT64_LIST:
      return "list of ints";
    case ONEOP_TYPE_FLOAT_LIST:
    case ONEOP_TYPE_DOUBLE_LIST:
      return "list of floats";
    case ONEOP_TYPE_BOOL_LIST:
      return "list of bools";
    case ONEOP_TYPE_STRING_LIST:
      return "list of str";
    case ONEOP_TYPE_SCALAR_LIST:
      return "list of scalars";
    case ONEOP_TYPE_DTYPE:
      return "torch.dtype";
    case ONEOP_TYPE_DTYPE_LIST:
      return "list of torch.dtype";
    case ONEOP_TYPE_SHAPE:
      return "shape";
    case ONEOP_TYPE_SHAPE_LIST:
      return "list of shapes";
    case ONEOP_TYPE_DEVICE:
      return "torch.device or str";
    case ONEOP_TYPE_GENERATOR:
      return "torch.Generator";
    case ONEOP_TYPE_LAYOUT:
      return "torch.layout";
    case ONEOP_TYPE_MEMORY_FORMAT:
      return "torch.memory_format";
    default:
      return "something else";
  }
}

}  // namespace

// long: a case for each type of a parameter.
bool value_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                       ValueMemory* memory) {
  value->kind = ONEOP_VALUE_NONE;
  value->reserved = 0;
  if (object == Py_None) {
    return arg.is_optional;
  }
  switch (arg.type) {
    case ONEOP_TYPE_TENSOR:
      if (is_builtin(object) || !THPVariable_Check(object)) {
        return false;
      }
      value->kind = ONEOP_VALUE_TENSOR;
      value->value.tensor = THPVariable_Unpack(object).unsafeGetTensorImpl();
      return true;
    case ONEOP_TYPE_FLOAT:
    case ONEOP_TYPE_DOUBLE:
    case ONEOP_TYPE_INT32:
    case ONEOP_TYPE_INT64:
    case ONEOP_TYPE_BOOL:
    case ONEOP_TYPE_SCALAR:
      return to_number(arg.type, object, value);
    case ONEOP_TYPE_STRING:
      value->kind = ONEOP_VALUE_STRING;
      return to_span(object, &value->value.list);
    case ONEOP_TYPE_TENSOR_TUPLE:
      return to_tensors(object, value, memory);
    case ONEOP_TYPE_DTYPE:
      value->kind = ONEOP_VALUE_DTYPE;
      return to_dtype_code(object, &value->value.i);
    case ONEOP_TYPE_DEVICE:
      return to_device(object, value, memory);
    case ONEOP_TYPE_GENERATOR:
      if (!THPGenerator_Check(object)) {
        return false;
      }
      value->kind = ONEOP_VALUE_GENERATOR;
      value->value.tensor = reinterpret_cast<THPGenerator*>(object)->cdata.unsafeGetGeneratorImpl();
      return true;
    case ONEOP_TYPE_LAYOUT:
      value->kind = ONEOP_VALUE_INT;
      value->value.i = THPLayout_Check(object)
                           ? static_cast<int64_t>(reinterpret_cast<THPLayout*>(object)->layout)
                           : 0;
      return THPLayout_Check(object);
    case ONEOP_TYPE_MEMORY_FORMAT:
      value->kind = ONEOP_VALUE_INT;
      value->value.i =
          THPMemoryFormat_Check(object)
              ? static_cast<int64_t>(reinterpret_cast<THPMemoryFormat*>(object)->memory_format)
              : 0;
      return THPMemoryFormat_Check(object);
    default:
      break;
  }
  if (!is_sequence(object)) {
    return arg.list_size > 0 && spread(arg, object, value, memory);
  }
  if (arg.list_size > 0 && PySequence_Fast_GET_SIZE(object) != arg.list_size) {
    return false;
  }
  return to_list(arg, object, value, memory);
}

namespace {

int32_t element_of(int32_t list_type) {
  switch (list_type) {
    case ONEOP_TYPE_INT32_LIST:
      return ONEOP_TYPE_INT32;
    case ONEOP_TYPE_INT64_LIST:
    case ONEOP_TYPE_SHAPE:
      return ONEOP_TYPE_INT64;
    case ONEOP_TYPE_FLOAT_LIST:
      return ONEOP_TYPE_FLOAT;
    case ONEOP_TYPE_DOUBLE_LIST:
      return ONEOP_TYPE_DOUBLE;
    case ONEOP_TYPE_BOOL_LIST:
      return ONEOP_TYPE_BOOL;
    case ONEOP_TYPE_STRING_LIST:
      return ONEOP_TYPE_STRING;
    case ONEOP_TYPE_SCALAR_LIST:
      return ONEOP_TYPE_SCALAR;
    case ONEOP_TYPE_DTYPE_LIST:
      return ONEOP_TYPE_DTYPE;
    case ONEOP_TYPE_SHAPE_LIST:
      return ONEOP_TYPE_SHAPE;
    case ONEOP_TYPE_TENSOR_TUPLE:
      return ONEOP_TYPE_TENSOR;
    default:
      return ONEOP_TYPE_VOID;
  }
}

std::string class_text(PyObject* object) {
  return std::string("<class '") + Py_TYPE(object)->tp_name + "'>";
}

// "argument 'i' must be int32, not 2147483648: ..."
std::string mismatch(const FunctionArg& arg, PyObject* object, const std::string& which) {
  const std::string range = range_text(arg.type, object);
  if (!range.empty()) {
    return which + " must be " + range + ", not " + found_text(object);
  }
  if (arg.type == ONEOP_TYPE_DEVICE && PyUnicode_Check(object)) {
    return which + " must be a device that torch knows, not " + found_text(object);
  }
  const int32_t element = element_of(arg.type);
  if (element != ONEOP_TYPE_VOID && is_sequence(object)) {
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(object);
    if (arg.list_size > 0 && size != arg.list_size) {
      return which + " must be " + type_text(arg) + ", not of size " + std::to_string(size);
    }
    FunctionArg item;
    item.type = element;
    for (Py_ssize_t i = 0; i < size; ++i) {
      ValueMemory memory;
      oneop_value value{};
      PyObject* found = PySequence_Fast_GET_ITEM(object, i);
      if (!value_from_python(item, found, &value, &memory)) {
        return mismatch(item, found, "element " + std::to_string(i) + " of " + which);
      }
    }
  }
  return which + " must be " + type_text(arg) + ", not " + class_text(object);
}

}  // namespace

std::string mismatch_text(const FunctionArg& arg, PyObject* object) {
  return mismatch(arg, object, "argument '" + arg.name + "'");
}

std::string type_text(const FunctionArg& arg) {
  std::string text = plain_type_text(arg.type);
  if (arg.list_size > 0) {
    text += " of size " + std::to_string(arg.list_size);
  }
  return arg.is_optional ? text + " or None" : text;
}

}  // namespace oneop
