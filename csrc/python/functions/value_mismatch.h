// value_mismatch.h: what is said of an argument of a function that does not fit.
#pragma once

#include <Python.h>

#include <string>

#include "engine/ops/functions.h"

namespace oneop {

// "float", "list of 2 ints".
std::string type_text(const FunctionArg& arg);
// Why a value does not fit: its type, its range, or which element of it.
std::string mismatch_text(const FunctionArg& arg, PyObject* object);

}  // namespace oneop
