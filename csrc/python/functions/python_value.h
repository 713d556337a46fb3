// python_value.h: arguments of functions from Python objects.
#pragma once

#include <Python.h>

#include "engine/ops/functions.h"
#include "python/functions/value_memory.h"

namespace oneop {

// False if the object cannot be an argument of this type. What the value points to is in the object
// or in `memory`.
bool value_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                       ValueMemory* memory);

}  // namespace oneop
