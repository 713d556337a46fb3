// python_item.cpp: which Python objects serve as a number, wherever they come from.
#include "python/functions/python_item.h"

#include <ATen/ATen.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cmath>
#include <limits>

#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

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

// A finite number stays one: 1e300 is not infinity.
bool is_float32(double number) {
  return std::abs(number) <= std::numeric_limits<float>::max() || !std::isfinite(number);
}

}  // namespace

bool any_number_from_python(PyObject* object, oneop_value* value) {
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

bool number_from_python(int32_t type, PyObject* object, oneop_value* value) {
  if (!any_number_from_python(object, value)) {
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

bool text_from_python(PyObject* object, oneop_span* span) {
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

bool dtype_from_python(PyObject* object, int64_t* code) {
  if (!THPDtype_Check(object)) {
    return false;
  }
  *code = to_abi(reinterpret_cast<THPDtype*>(object)->scalar_type);
  return *code != ONEOP_DTYPE_INVALID;
}

}  // namespace oneop
