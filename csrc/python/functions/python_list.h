// python_list.h: list arguments of functions from Python's lists and tuples.
#pragma once

#include <Python.h>

#include "engine/ops/functions.h"
#include "python/functions/value_memory.h"

namespace oneop {

// Each returns false where the object is no such list. The list itself is in `memory`; what its
// items point to is in the object.

bool tensors_from_python(PyObject* object, oneop_value* value, ValueMemory* memory);
// A list of any other type.
bool list_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                      ValueMemory* memory);
// A single number stands for a list of fixed size.
bool spread_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                        ValueMemory* memory);

}  // namespace oneop
