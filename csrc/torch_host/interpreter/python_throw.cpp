// python_throw.cpp: see python_throw.h.
#include "torch_host/interpreter/python_throw.h"

#include <Python.h>
#include <torch/csrc/Exceptions.h>

#include "interpreter/python_error.h"

namespace oneop {

void throw_python_error(const Error& error) {
  pybind11::gil_scoped_acquire gil;
  set_python_error(error);
  python_error raised;
  raised.persist();
  throw raised;
}

void warn_python(const std::string& text) {
  pybind11::gil_scoped_acquire gil;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) {
    python_error error;
    error.persist();
    throw error;
  }
}

void forget_python_error() {
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyErr_Clear();
  PyGILState_Release(gil);
}

}  // namespace oneop
