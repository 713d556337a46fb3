// python_error.cpp: raising the classes of oneop/errors.py from C++.
#include "interpreter/python_error.h"

#include <Python.h>

#include <cstring>

namespace oneop {
namespace {

PyObject* find_class(const char* name) {
  PyObject* module = PyImport_ImportModule("oneop.errors");
  if (module == nullptr) {
    return nullptr;
  }
  PyObject* cls = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return cls;
}

// torch raises classes of its own modules to steer whoever called (activation checkpointing ends a
// recomputation so, tracing asks for a guard). They come out of authors' functions, and are not
// errors of these.
bool is_signal_of_torch(PyObject* exception) {
  PyObject* module =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(exception)), "__module__");
  const char* name =
      module != nullptr && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  const bool is_torch = name != nullptr && std::strncmp(name, "torch.", 6) == 0;
  PyErr_Clear();
  Py_XDECREF(module);
  return is_torch;
}

// Errors of oneop name their op already, and an interrupt is nobody's error.
bool speaks_for_itself(PyObject* exception) {
  if (PyObject_IsInstance(exception, PyExc_Exception) != 1 || is_signal_of_torch(exception)) {
    return true;
  }
  PyObject* base = find_class("OneopError");
  const bool is_ours = base != nullptr && PyObject_IsInstance(exception, base) == 1;
  Py_XDECREF(base);
  return is_ours;
}

// Makes `cause` the cause of the exception that is set.
void chain(PyObject* cause) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyException_SetCause(value, Py_NewRef(cause));
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void set_python_error(const Error& error) {
  PyObject* cls = find_class(error.cls());
  if (cls == nullptr) {
    return;
  }  // the failed import is the error then
  auto* cause = static_cast<PyObject*>(error.cause().get());
  if (cause != nullptr && speaks_for_itself(cause)) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause)), cause);
  } else {
    // Texts come from libraries, compilers and the dynamic linker: any bytes.
    PyObject* text = PyUnicode_DecodeUTF8(
        error.what(), static_cast<Py_ssize_t>(std::strlen(error.what())), "backslashreplace");
    if (text != nullptr) {
      PyErr_SetObject(cls, text);
      Py_DECREF(text);
    }
    if (cause != nullptr) {
      chain(cause);
    }
  }
  Py_DECREF(cls);
}

}  // namespace oneop
