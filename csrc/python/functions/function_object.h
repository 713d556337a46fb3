// function_object.h: the type oneop._core.Function, the Python object of a function.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/ops/functions.h"
#include "python/functions/function_signature.h"

namespace oneop {

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const std::string* name;
  const std::vector<FunctionSignature>* signatures;  // never freed
  int64_t version;  // Functions::version() when the signatures were read
  PyObject* dict;
  PyObject* weakrefs;
};

// Reads what is registered under the name now.
void read_signatures(FunctionObject* object, int64_t version);

// Reads the signatures again if a function was registered since.
inline void refresh(FunctionObject* object) {
  const int64_t version = Functions::version();
  if (object->version != version) {
    read_signatures(object, version);
  }
}

// Makes the type. False, with a Python error set, if that fails.
bool add_function_type(PyObject* module);

// A new object, whose calls go to `vectorcall`. Throws python_error.
PyObject* make_function_object(const std::string& name, vectorcallfunc vectorcall);

}  // namespace oneop
