// functional.h: oneop._C.<name>, the Python objects of functions.
#pragma once

#include <Python.h>

#include <string>

namespace oneop {

// Makes the type oneop._core.Function. False, with a Python error set, if that fails.
bool add_function_type(PyObject* module);

// A callable for the function of this name. Throws OpNotFoundError.
PyObject* make_function(const std::string& name);

}  // namespace oneop
