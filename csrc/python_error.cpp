// python_error.cpp: raising the classes of oneop/errors.py from C++.
#include "python_error.h"

#include <Python.h>
#include <torch/csrc/Exceptions.h>

namespace oneop {
namespace {

PyObject* find_class(const char* name) {
  PyObject* module = PyImport_ImportModule("oneop.errors");
  if (module == nullptr) { return nullptr; }
  PyObject* cls = PyObject_GetAttrString(module, name);
  Py_DECREF(module);
  return cls;
}

}  // namespace

void set_python_error(const Error& error) {
  PyObject* cls = find_class(error.cls());
  if (cls == nullptr) { return; }  // the failed import is the error then
  PyErr_SetString(cls, error.what());
  Py_DECREF(cls);
}

void throw_python_error(const Error& error) {
  pybind11::gil_scoped_acquire gil;
  set_python_error(error);
  python_error raised;
  raised.persist();
  throw raised;
}

}  // namespace oneop
