// trace_hook.cpp: see trace_hook.h.
#include "torch_host/interpreter/trace_hook.h"

#include "torch_host/interpreter/python_ref.h"

namespace oneop {
namespace {

PyObject* trace_hook = nullptr;  // read and written with the GIL held

}  // namespace

void set_trace_hook(PyObject* hook) {
  PyObject* before = trace_hook;
  trace_hook = Py_NewRef(hook);
  Py_XDECREF(before);
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
