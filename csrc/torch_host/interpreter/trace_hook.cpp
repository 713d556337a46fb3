// trace_hook.cpp: see trace_hook.h.
#include "torch_host/interpreter/trace_hook.h"

#include "interpreter/python_ref.h"

namespace oneop {
namespace {

// Read and written with the GIL held.
PyObject* trace_hook = nullptr;
PyObject* unstored_hook = nullptr;

void set_hook(PyObject** hook, PyObject* by) {
  PyObject* before = *hook;
  *hook = Py_NewRef(by);
  Py_XDECREF(before);
}

}  // namespace

void set_trace_hook(PyObject* hook) { set_hook(&trace_hook, hook); }

void set_unstored_hook(PyObject* hook) { set_hook(&unstored_hook, hook); }

namespace {

void check_hook(PyObject* returned, const std::string& op) {
  if (returned == nullptr) {
    throw raised_error(op.empty() ? "function of a library: it cannot be traced"
                                  : "op \"" + op + "\": it cannot be traced",
                       Source{});
  }
  Py_DECREF(returned);
}

}  // namespace

void tell_traced(const std::string& name) {
  const Gil gil;
  if (trace_hook != nullptr) {
    check_hook(PyObject_CallFunction(trace_hook, "s", name.c_str()), name);
  }
}

void tell_unstored(const std::string& op, const std::string& attr, const char* what) {
  const Gil gil;
  if (unstored_hook != nullptr) {
    check_hook(PyObject_CallFunction(unstored_hook, "sss", op.c_str(), attr.c_str(), what), op);
  }
}

}  // namespace oneop
