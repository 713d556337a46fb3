// python_value.h: arguments of functions from Python objects.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "functions.h"

namespace oneop {

// Memory behind the lists of one call's arguments.
struct ValueMemory {
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> floats;
  std::vector<std::vector<oneop_handle>> handles;
  std::vector<std::vector<oneop_span>> spans;
  std::vector<std::vector<oneop_value>> values;
};

// False if the object cannot be an argument of this type. What the value points to is in the object
// or in `memory`.
bool value_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                       ValueMemory* memory);

// "float", "list of 2 ints", for messages.
std::string type_text(const FunctionArg& arg);

}  // namespace oneop
