// python_attr.cpp: strict conversion of attributes. An int serves where a float is asked for,
// nothing else bends.
#include "python/calls/python_attr.h"

#include <torch/csrc/Dtype.h>
#include <torch/csrc/utils/python_symnode.h>

#include <limits>

#include "engine/ops/error.h"
#include "torch_host/calls/calls.h"
#include "torch_host/interpreter/python_ref.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// Each returns false where the object is not of that kind. The Python exception is set then if the
// object's own code raised it.

bool to_int(PyObject* object, int64_t* value) {
  if (PyBool_Check(object)) {
    return false;
  }
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    *value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
  }
  if (!PyIndex_Check(object) || PyFloat_Check(object)) {
    return false;
  }
  PyObject* index = PyNumber_Index(object);  // numpy integers, int subclasses
  if (index == nullptr) {
    return false;
  }
  int overflow = 0;
  *value = PyLong_AsLongLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  return overflow == 0;
}

bool to_int32(PyObject* object, int64_t* value) {
  return to_int(object, value) && *value >= std::numeric_limits<int32_t>::min() &&
         *value <= std::numeric_limits<int32_t>::max();
}

// Whether the object is a complex number with more than a real part, or was interrupted when asked:
// the exception is set then. numpy turns its own into floats with no more than a warning.
bool has_imaginary_part(PyObject* object) {
  if (PyLong_Check(object) || PyFloat_Check(object)) {
    return false;
  }
  PyObject* part = PyObject_GetAttrString(object, "imag");
  const int is_true = part == nullptr ? -1 : PyObject_IsTrue(part);
  Py_XDECREF(part);
  if (is_true < 0 && PyErr_ExceptionMatches(PyExc_Exception) != 0) {
    PyErr_Clear();  // it has none
    return false;
  }
  return is_true != 0;
}

bool to_double(PyObject* object, double* value) {
  if (PyFloat_CheckExact(object)) {
    *value = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object) || PyUnicode_Check(object) || PyComplex_Check(object) ||
      !PyNumber_Check(object) || has_imaginary_part(object)) {
    return false;
  }
  *value = PyFloat_AsDouble(object);
  return *value != -1.0 || PyErr_Occurred() == nullptr;
}

bool to_complex(PyObject* object, c10::complex<double>* value) {
  if (PyBool_Check(object) || PyUnicode_Check(object) ||
      !(PyNumber_Check(object) || PyObject_HasAttrString(object, "__complex__") == 1)) {
    return false;
  }
  const Py_complex number = PyComplex_AsCComplex(object);  // by __complex__, then by __float__
  *value = {number.real, number.imag};
  return number.real != -1.0 || PyErr_Occurred() == nullptr;
}

bool to_text(PyObject* object, std::string* value) {
  if (!PyUnicode_Check(object)) {
    return false;
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(object, &size);
  if (data == nullptr) {
    return false;
  }
  value->assign(data, size);
  return true;
}

bool to_bytes(PyObject* object, std::string* value) {
  if (!PyBytes_Check(object)) {
    return to_text(object, value);
  }
  value->assign(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object));
  return true;
}

bool to_dtype(PyObject* object, int64_t* value) {
  if (!THPDtype_Check(object)) {
    return false;
  }
  const auto type = reinterpret_cast<THPDtype*>(object)->scalar_type;
  *value = static_cast<int64_t>(type);
  return to_abi(type) != ONEOP_DTYPE_INVALID;
}

// Calls `act` with each item of a list or tuple; false if it is neither or `act` returns false.
// Converting an item may run its own code, which may change the list: the items are those that the
// list had at first, and they are owned meanwhile.
template <typename Act>
bool for_each_item(PyObject* object, const Act& act) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) {
    return false;
  }
  const pybind11::object items = pybind11::reinterpret_steal<pybind11::object>(
      is_simple_attr(object) || PyTuple_CheckExact(object) ? Py_NewRef(object)
      : PyList_Check(object)                               ? PyList_AsTuple(object)
                                                           : PySequence_Tuple(object));
  if (!items) {
    return false;
  }
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(items.ptr());
  for (Py_ssize_t i = 0; i < size; ++i) {
    if (!act(PySequence_Fast_GET_ITEM(items.ptr(), i))) {
      return false;
    }
  }
  return true;
}

template <typename T, typename Convert>
bool to_list(PyObject* object, const Convert& convert, c10::List<T>* list) {
  return for_each_item(object, [&](PyObject* object_of_item) {
    T item{};
    if (!convert(object_of_item, &item)) {
      return false;
    }
    list->push_back(std::move(item));
    return true;
  });
}

bool to_shapes(PyObject* object, c10::List<c10::List<int64_t>>* shapes) {
  return for_each_item(object, [&](PyObject* item) {
    c10::List<int64_t> shape;
    if (!to_list(item, to_int, &shape)) {
      return false;
    }
    shapes->push_back(std::move(shape));
    return true;
  });
}

const char* expected_text(int32_t type) {
  switch (type) {
    case ONEOP_ATTR_INT32:
      return "an int of 32 bits";
    case ONEOP_ATTR_INT64:
      return "an int";
    case ONEOP_ATTR_BOOL:
      return "a bool";
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return "a float";
    case ONEOP_ATTR_STRING:
      return "a str";
    case ONEOP_ATTR_BYTES:
      return "bytes";
    case ONEOP_ATTR_SHAPE:
      return "a shape (tuple or list of ints)";
    case ONEOP_ATTR_DTYPE:
      return "a torch.dtype";
    case ONEOP_ATTR_LIST_INT32:
      return "a list of ints of 32 bits";
    case ONEOP_ATTR_LIST_INT64:
      return "a list of ints";
    case ONEOP_ATTR_LIST_FLOAT:
      return "a list of floats of 32 bits";
    case ONEOP_ATTR_LIST_DOUBLE:
      return "a list of floats";
    case ONEOP_ATTR_LIST_DTYPE:
      return "a list of torch.dtype";
    case ONEOP_ATTR_LIST_SHAPE:
      return "a list of shapes";
    case ONEOP_ATTR_LIST_STRING:
      return "a list of str";
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return "a complex";
    default:
      return "something else";
  }
}

// An interrupt in the object's own code goes on as itself. Ctrl-C gives it no text: say where it
// was.
void name_interrupt(PyObject* exception, const std::string& where) {
  if (exception == nullptr || !PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt)) {
    return;
  }
  const auto raised = pybind11::reinterpret_borrow<pybind11::object>(exception);
  if (pybind11::len(raised.attr("args")) == 0) {
    raised.attr("args") = pybind11::make_tuple(where);
  }
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
      c10::complex<double> number;
      if (!to_complex(object, &number)) {
        return false;
      }
      *out = number;
      return true;
    }
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

std::string python_type_name(PyObject* object) {
  const std::string name = Py_TYPE(object)->tp_name;
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

std::string repr_of(PyObject* object) {
  PyObject* repr = PyObject_Repr(object);
  std::string text;
  if (repr == nullptr || !to_text(repr, &text)) {
    PyErr_Clear();  // the error that is being told matters more than one of __repr__
  }
  Py_XDECREF(repr);
  if (text.size() > 60) {
    text = text.substr(0, 57) + "...";
  }
  return text;
}

std::string found_text(PyObject* object) {
  return python_type_name(object) + " " + repr_of(object);
}

c10::IValue list_of_ints(PyObject* object) {
  c10::IValue value;
  return convert(ONEOP_ATTR_LIST_INT64, object, &value) ? value : c10::IValue();
}

c10::IValue attr_from_python(const OpDef& op, const AttrDef& attr, PyObject* object) {
  c10::IValue value;
  if (attr.is_optional && object == Py_None) {
    return value;
  }
  const bool is_converted = convert(attr.type, object, &value);
  if (is_converted && value_fits(value, attr.type)) {
    return value;
  }
  PyShared raised = take_exception();
  name_interrupt(raised.get(), "while attribute " + in_quotes(attr.name) + " of op " +
                                   in_quotes(op.name) + " was converted");
  throw Error(
      "ArgumentError",
      "op " + in_quotes(op.name) + ", attribute " + in_quotes(attr.name) + ": expected " +
          expected_text(attr.type) +
          (is_converted                                                 ? " of 32 bits"
           : attr.type == ONEOP_ATTR_INT64 && PyLong_CheckExact(object) ? " of 64 bits"
           : attr.type == ONEOP_ATTR_STRING && PyUnicode_Check(object)  ? " that UTF-8 can encode"
                                                                        : "") +
          (attr.is_optional ? " or None" : "") + ", found " + found_text(object) +
          "\n  defined at " + op.source.text(),
      std::move(raised));
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
