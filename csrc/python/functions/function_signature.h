// function_signature.h: one signature of a function, with what Python needs to call it.
#pragma once

#include <Python.h>

#include <cstddef>
#include <vector>

#include "engine/ops/functions.h"

namespace oneop {

// Never freed, and so never gives back its Python objects: a call on another thread may use it.
struct FunctionSignature {
  FunctionPtr def;
  std::vector<PyObject*> names;  // interned
  size_t num_positional = 0;
  bool packs = false;              // f(1, 2, 3) for f([1, 2, 3])
  PyObject* tuple_type = nullptr;  // a named tuple, where the results have names

  // Needs the GIL. Throws python_error.
  explicit FunctionSignature(FunctionPtr function);
};

}  // namespace oneop
