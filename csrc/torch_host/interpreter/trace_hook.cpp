// trace_hook.cpp: see trace_hook.h.
#include "torch_host/interpreter/trace_hook.h"

#include "torch_host/interpreter/python_ref.h"

namespace oneop {
namespace {

// Read and written with the GIL held.
PyObject* trace_hook = nullptr;
PyObject* empty_list_hook = nullptr;

void set_hook(PyObject** hook, PyObject* by) {
  PyObject* before = *hook;
  *hook = Py_NewRef(by);
  Py_XDECREF(before);
}

}  // namespace

void set_trace_hook(PyObject* hook) { set_hook(&trace_hook, hook); }

void set_empty_list_hook(PyObject* hook) { set_hook(&empty_list_hook, hook); }

void tell_empty_list(const std::string& op, const std::string& attr) {
  const Gil gil;
  if (empty_list_hook == nullptr) {
    return;
  }
  PyObject* returned = PyObject_CallFunction(empty_list_hook, "ss", op.c_str(), attr.c_str());
  if (returned == nullptr) {
    throw raised_error("op \"" + op + "\": it cannot be traced", Source{});
  }
  Py_DECREF(returned);
}

void tell_traced(const std::string& name) {
  const Gil gil;
  if (trace_hook == nullptr) {
    return;
  }
  PyObject* returned = PyObject_CallFunction(trace_hook, "s", name.c_str());
  if (returned == nullptr) {
    throw raised_error(name.empty() ? "function of a library: it cannot be traced"
                                    : "op \"" + name + "\": it cannot be traced",
                       Source{});
  }
  Py_DECREF(returned);
}

}  // namespace oneop
