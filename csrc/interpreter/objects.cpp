// objects.cpp: strict conversions.
#include "interpreter/objects.h"

#include <limits>

namespace oneop {

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

namespace {

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

}  // namespace

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

bool to_complex(PyObject* object, double (*value)[2]) {
  if (PyBool_Check(object) || PyUnicode_Check(object) ||
      !(PyNumber_Check(object) || PyObject_HasAttrString(object, "__complex__") == 1)) {
    return false;
  }
  const Py_complex number = PyComplex_AsCComplex(object);  // by __complex__, then by __float__
  (*value)[0] = number.real;
  (*value)[1] = number.imag;
  return number.real != -1.0 || PyErr_Occurred() == nullptr;
}

namespace {

// After a conversion that failed; false where the program is to end.
bool may_go_on() {
  if (PyErr_Occurred() != nullptr) {
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) {
      return false;
    }
    PyErr_Clear();
  }
  return true;
}

bool is_numpy_bool(PyObject* object) {
  const std::string name = Py_TYPE(object)->tp_name;
  return name == "numpy.bool" || name == "numpy.bool_";
}

}  // namespace

bool to_bool(PyObject* object, bool* value) {
  *value = object == Py_True;
  return PyBool_Check(object);
}

bool to_scalar(PyObject* object, ScalarParts* value) {
  if (PyBool_Check(object) || is_numpy_bool(object)) {
    value->type = ONEOP_ATTR_BOOL;
    value->i = PyObject_IsTrue(object) == 1 ? 1 : 0;
    return true;
  }
  if (!PyFloat_Check(object) && !PyComplex_Check(object)) {
    value->type = ONEOP_ATTR_INT64;
    if (to_int(object, &value->i)) {
      return true;
    }
    if (PyLong_Check(object) || !may_go_on()) {
      return false;  // an int of more than 64 bits
    }
  }
  value->type = ONEOP_ATTR_DOUBLE;
  if (to_double(object, &value->parts[0])) {
    return true;
  }
  if (!may_go_on()) {
    return false;
  }
  value->type = ONEOP_ATTR_COMPLEX_DOUBLE;
  return to_complex(object, &value->parts);
}

bool split_gaps(PyObject* object, PyObject** items, PyObject** given) {
  if (object == nullptr || !is_sequence(object)) {
    return false;
  }
  PyObject* all = PySequence_Tuple(object);
  const Py_ssize_t count = all == nullptr ? 0 : PyTuple_GET_SIZE(all);
  Py_ssize_t present = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    present += PyTuple_GET_ITEM(all, i) == Py_None ? 0 : 1;
  }
  if (all == nullptr || present == count) {
    Py_XDECREF(all);
    return false;
  }
  *items = PyList_New(present);
  *given = PyList_New(count);
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(all, i);
    PyList_SET_ITEM(*given, i, Py_NewRef(item == Py_None ? Py_False : Py_True));
    if (item != Py_None) {
      PyList_SET_ITEM(*items, next++, Py_NewRef(item));
    }
  }
  Py_DECREF(all);
  return true;
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

PyObject* items_of_sequence(PyObject* object, bool is_simple) {
  if (!is_sequence(object)) {
    return nullptr;
  }
  return is_simple || PyTuple_CheckExact(object) ? Py_NewRef(object)
         : PyList_Check(object)                  ? PyList_AsTuple(object)
                                                 : PySequence_Tuple(object);
}

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

void name_interrupt(PyObject* exception, const std::string& where) {
  if (exception == nullptr || !PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt)) {
    return;
  }
  PyObject* args = PyObject_GetAttrString(exception, "args");
  if (args != nullptr && PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 0) {
    PyObject* told = Py_BuildValue("(s)", where.c_str());
    if (told != nullptr) {
      PyObject_SetAttrString(exception, "args", told);
    }
    Py_XDECREF(told);
  }
  Py_XDECREF(args);
  PyErr_Clear();
}

}  // namespace oneop
