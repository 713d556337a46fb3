// python_value.cpp: which Python objects serve as which type of argument. Wider than attributes
// are: see docs/functional.md.
#include "python/functions/python_value.h"

#include <c10/core/Device.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/autograd/python_variable.h>

#include <vector>

#include "interpreter/objects.h"
#include "python/functions/python_item.h"
#include "python/functions/python_list.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// What is no tensor at first sight: to ask torch takes longer than the rest of a call's argument.
bool is_builtin(PyObject* object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyUnicode_CheckExact(object) || PyList_CheckExact(object) || PyTuple_CheckExact(object);
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
      return number_from_python(arg.type, object, value);
    case ONEOP_TYPE_STRING:
      value->kind = ONEOP_VALUE_STRING;
      return text_from_python(object, &value->value.list);
    case ONEOP_TYPE_TENSOR_TUPLE:
      return tensors_from_python(object, value, memory);
    case ONEOP_TYPE_DTYPE:
      value->kind = ONEOP_VALUE_DTYPE;
      return dtype_from_python(object, &value->value.i);
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
    return arg.list_size > 0 && spread_from_python(arg, object, value, memory);
  }
  if (arg.list_size > 0 && PySequence_Fast_GET_SIZE(object) != arg.list_size) {
    return false;
  }
  return list_from_python(arg, object, value, memory);
}

}  // namespace oneop
