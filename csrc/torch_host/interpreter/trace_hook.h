// trace_hook.h: telling Python what torch traces, so that compiled code is guarded on the
// definitions that it was made from; see oneop/authoring/keys/guards.py.
#pragma once

#include <Python.h>

#include <string>

namespace oneop {

// Has `hook(name)` called when this thread traces an op. The GIL is held; set once.
void set_trace_hook(PyObject* hook);

// Calls the hook, with the name of the op, or with "" for a function of a library. Takes the GIL.
// Throws Error with the exception as its cause if the hook raises.
void tell_traced(const std::string& name);

// Has `hook(op, attribute, what)` called when a traced call has a value that not every program that
// torch makes of a trace can hold; see oneop/runtime/aot_packages.py. As above in all other ways.
// What: "empty list" for one of ints as an optional attribute, "bool" or "complex" for a scalar.
void set_unstored_hook(PyObject* hook);
void tell_unstored(const std::string& op, const std::string& attr, const char* what);

}  // namespace oneop
