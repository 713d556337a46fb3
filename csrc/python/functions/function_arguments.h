// function_arguments.h: what Python calls a function with, tried on one signature after the other.
#pragma once

#include <Python.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <string>

#include "python/functions/function_signature.h"
#include "python/functions/value_memory.h"

namespace oneop {

using ArgumentValues = c10::SmallVector<oneop_value, 16>;

// Puts the arguments in the order of a signature and converts them. They belong to the caller, who
// keeps them as long as this and the values live.
class FunctionArguments {
 public:
  FunctionArguments(PyObject* const* args, size_t num_args, PyObject* kwnames)
      : args_(args), num_args_(num_args), kwnames_(kwnames) {}

  // `why`, where given, gets the reason of a failure.
  bool fit(const FunctionSignature& signature, ArgumentValues* values, ValueMemory* memory,
           std::string* why) const;

  PyObject* positional() const;  // a new tuple
  PyObject* keywords() const;    // a new dict

 private:
  std::string too_many(const FunctionSignature& signature) const;
  bool place_keywords(const FunctionSignature& signature, PyObject** objects,
                      std::string* why) const;
  bool convert(const FunctionSignature& signature, PyObject* const* objects, ArgumentValues* values,
               ValueMemory* memory, std::string* why) const;

  PyObject* const* args_;
  size_t num_args_;
  PyObject* kwnames_;
};

}  // namespace oneop
