// kept_calls.h: an object that hands a repeated call on to the program that was made for it. For
// hosts that compile programs, as JAX does.
#pragma once

#include <Python.h>

namespace oneop {

bool add_kept_calls_type(PyObject* module);

// keep_calls(general, array_type, num_arrays, name, editions): `general` makes the calls for which
// nothing is kept. Null with the exception set.
PyObject* keep_calls(PyObject* module, PyObject* const* args, Py_ssize_t count);

}  // namespace oneop
