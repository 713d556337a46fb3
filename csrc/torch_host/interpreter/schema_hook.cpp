// schema_hook.cpp: see schema_hook.h.
#include "torch_host/interpreter/schema_hook.h"

#include "interpreter/python_ref.h"

namespace oneop {
namespace {

PyObject* schema_hook = nullptr;  // read and written with the GIL held

}  // namespace

void set_schema_hook(PyObject* hook) {
  PyObject* before = schema_hook;
  schema_hook = Py_NewRef(hook);
  Py_XDECREF(before);
}

void tell_schemas(const std::vector<std::string>& names) {
  if (names.empty()) {
    return;
  }
  const Gil gil;
  if (schema_hook == nullptr) {
    return;
  }
  PyObject* list = PyList_New(0);
  for (const std::string& name : names) {
    PyObject* text = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    PyList_Append(list, text);
    Py_DECREF(text);
  }
  PyObject* returned = PyObject_CallOneArg(schema_hook, list);
  Py_DECREF(list);
  if (returned == nullptr) {
    PyErr_WriteUnraisable(schema_hook);
  }
  Py_XDECREF(returned);
}

}  // namespace oneop
