// value_mismatch.cpp: the type that was expected, and where the object fails. Made only for a
// message: most signatures that are tried fail for their type alone.
#include "python/functions/value_mismatch.h"

#include "interpreter/objects.h"
#include "python/functions/python_value.h"
#include "python/functions/value_memory.h"

namespace oneop {
namespace {

// What is wrong with the object beside its type; empty where it is nothing else.
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
