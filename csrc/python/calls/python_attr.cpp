// python_attr.cpp: strict conversion of attributes. An int serves where a float is asked for,
// nothing else bends.
#include "python/calls/python_attr.h"

#include <torch/csrc/Dtype.h>
#include <torch/csrc/utils/python_symnode.h>

#include <limits>

#include "engine/ops/bytes_text.h"
#include "interpreter/attr_values.h"
#include "interpreter/python_ref.h"
#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

bool to_dtype(PyObject* object, int64_t* value) {
  if (!THPDtype_Check(object)) {
    return false;
  }
  const auto type = reinterpret_cast<THPDtype*>(object)->scalar_type;
  *value = static_cast<int64_t>(type);
  return to_abi(type) != ONEOP_DTYPE_INVALID;
}

template <typename T, typename Convert>
bool to_list(PyObject* object, const Convert& convert, c10::List<T>* list) {
  return for_each_item(object, is_simple_attr(object), [&](PyObject* object_of_item) {
    T item{};
    if (!convert(object_of_item, &item)) {
      return false;
    }
    list->push_back(std::move(item));
    return true;
  });
}

bool to_shapes(PyObject* object, c10::List<c10::List<int64_t>>* shapes) {
  return for_each_item(object, is_simple_attr(object), [&](PyObject* item) {
    c10::List<int64_t> shape;
    if (!to_list(item, to_int, &shape)) {
      return false;
    }
    shapes->push_back(std::move(shape));
    return true;
  });
}

template <typename T, typename Convert>
bool convert_list(PyObject* object, const Convert& convert, c10::IValue* out) {
  c10::List<T> list;
  if (!to_list(object, convert, &list)) {
    return false;
  }
  *out = std::move(list);
  return true;
}

bool convert_scalar(PyObject* object, c10::IValue* out) {
  ScalarParts number;
  if (!to_scalar(object, &number)) {
    return false;
  }
  *out = number.type == ONEOP_ATTR_INT64  ? c10::IValue(number.i)
         : number.type == ONEOP_ATTR_BOOL ? c10::IValue(number.i != 0)
         : number.type == ONEOP_ATTR_DOUBLE
             ? c10::IValue(number.parts[0])
             : c10::IValue(c10::complex<double>(number.parts[0], number.parts[1]));
  return true;
}

// One number for every item of a list of a fixed length.
bool spread(const AttrDef& attr, PyObject* object, c10::IValue* out) {
  if (attr.list_size == 0 || !is_spread(attr.type) || is_sequence(object)) {
    return false;
  }
  if (attr.type == ONEOP_ATTR_LIST_FLOAT || attr.type == ONEOP_ATTR_LIST_DOUBLE) {
    double number = 0;
    const bool is_number = to_double(object, &number);
    *out = std::vector<double>(attr.list_size, number);
    return is_number;
  }
  int64_t number = 0;
  const bool is_int =
      attr.type == ONEOP_ATTR_LIST_INT32 ? to_int32(object, &number) : to_int(object, &number);
  *out = std::vector<int64_t>(attr.list_size, number);
  return is_int;
}

bool has_length(const AttrDef& attr, const c10::IValue& value) {
  return attr.list_size == 0 || static_cast<int32_t>(items_of(value).size()) == attr.list_size;
}

// long: a case for each attribute type.
bool convert(int32_t type, PyObject* object, c10::IValue* out) {
  int64_t i = 0;
  double f = 0;
  std::string text;
  switch (type) {
    case ONEOP_ATTR_INT32:
      if (!to_int32(object, &i)) {
        return false;
      }
      *out = i;
      return true;
    case ONEOP_ATTR_INT64:
      if (!to_int(object, &i)) {
        return false;
      }
      *out = i;
      return true;
    case ONEOP_ATTR_BOOL:
      if (!PyBool_Check(object)) {
        return false;
      }
      *out = object == Py_True;
      return true;
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      if (!to_double(object, &f)) {
        return false;
      }
      *out = f;
      return true;
    case ONEOP_ATTR_STRING:
      if (!to_text(object, &text)) {
        return false;
      }
      *out = std::move(text);
      return true;
    case ONEOP_ATTR_BYTES:
      if (!to_bytes(object, &text)) {
        return false;
      }
      *out = text_of_bytes(text);
      return true;
    case ONEOP_ATTR_DTYPE:
      if (!to_dtype(object, &i)) {
        return false;
      }
      *out = i;
      return true;
    case ONEOP_ATTR_COMPLEX_DOUBLE: {
      double number[2];
      if (!to_complex(object, &number)) {
        return false;
      }
      *out = c10::complex<double>(number[0], number[1]);
      return true;
    }
    case ONEOP_ATTR_SCALAR:
      return convert_scalar(object, out);
    case ONEOP_ATTR_LIST_BOOL:
      return convert_list<bool>(object, to_bool, out);
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return convert_list<int64_t>(object, to_int, out);
    case ONEOP_ATTR_LIST_INT32:
      return convert_list<int64_t>(object, to_int32, out);
    case ONEOP_ATTR_LIST_DTYPE:
      return convert_list<int64_t>(object, to_dtype, out);
    case ONEOP_ATTR_LIST_FLOAT:
    case ONEOP_ATTR_LIST_DOUBLE:
      return convert_list<double>(object, to_double, out);
    case ONEOP_ATTR_LIST_STRING:
      return convert_list<std::string>(object, to_text, out);
    case ONEOP_ATTR_LIST_SHAPE: {
      c10::List<c10::List<int64_t>> shapes;
      if (!to_shapes(object, &shapes)) {
        return false;
      }
      *out = std::move(shapes);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace

c10::IValue list_of_ints(PyObject* object) {
  c10::IValue value;
  return convert(ONEOP_ATTR_LIST_INT64, object, &value) ? value : c10::IValue();
}

c10::IValue attr_from_python(const OpDef& op, const AttrDef& attr, PyObject* object) {
  c10::IValue value;
  if (attr.is_optional && object == Py_None) {
    return value;
  }
  const bool is_converted = (convert(attr.type, object, &value) || spread(attr, object, &value)) &&
                            has_length(attr, value);
  if (is_converted && value_fits(value, attr.type)) {
    return value;
  }
  refuse_attr(op, attr, object, is_converted, "torch.dtype");
}

bool is_simple_attr(PyObject* object, int depth) {
  if (PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
      PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyComplex_CheckExact(object) ||
      THPDtype_Check(object) || object == Py_None) {
    return true;
  }
  if (depth == 0 || (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))) {
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    if (!is_simple_attr(PySequence_Fast_GET_ITEM(object, i), depth - 1)) {
      return false;
    }
  }
  return true;
}

namespace {

bool is_symbolic_at(PyObject* object, int depth) {
  if (is_simple_attr(object, 0)) {
    return false;
  }
  if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; depth > 0 && i < PySequence_Fast_GET_SIZE(object); ++i) {
      const auto item = pybind11::reinterpret_borrow<pybind11::object>(
          PySequence_Fast_GET_ITEM(object, i));  // looking at it may run its code
      if (is_symbolic_at(item.ptr(), depth - 1)) {
        return true;
      }
    }
    return false;
  }
  const pybind11::handle handle(object);
  return torch::is_symint(handle) || torch::is_symfloat(handle) || torch::is_symbool(handle);
}

}  // namespace

bool is_symbolic(PyObject* object) { return is_symbolic_at(object, kListDepth); }

}  // namespace oneop
