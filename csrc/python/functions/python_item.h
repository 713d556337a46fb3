// python_item.h: one number, text or dtype of an argument, alone or in a list.
#pragma once

#include <Python.h>

#include <cstdint>

#include "oneop/abi.h"

namespace oneop {

// Each returns false, with no Python error set, where the object is nothing for the argument.

// A number of any kind; a tensor without dimensions is one too.
bool any_number_from_python(PyObject* object, oneop_value* value);
// A number for this type of argument, ONEOP_TYPE_.... False where it is out of its range.
bool number_from_python(int32_t type, PyObject* object, oneop_value* value);
// The text of a str or bytes object, which lives as long as the object.
bool text_from_python(PyObject* object, oneop_span* span);
bool dtype_from_python(PyObject* object, int64_t* code);

}  // namespace oneop
