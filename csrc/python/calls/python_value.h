// python_value.h: arguments of functions from Python objects.
#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/ops/functions.h"

namespace oneop {

// Memory behind the lists of one call's arguments.
class ValueMemory {
 public:
  template <typename T>
  oneop_span keep(std::vector<T> list) {
    const auto held = std::make_shared<std::vector<T>>(std::move(list));
    lists_.push_back(held);
    return {held->data(), static_cast<int64_t>(held->size())};
  }

 private:
  std::vector<std::shared_ptr<void>> lists_;
};

// False if the object cannot be an argument of this type. What the value points to is in the object
// or in `memory`.
bool value_from_python(const FunctionArg& arg, PyObject* object, oneop_value* value,
                       ValueMemory* memory);

// "float", "list of 2 ints", for messages.
std::string type_text(const FunctionArg& arg);
// Why a value does not fit: its type, its range, or which element of it.
std::string mismatch_text(const FunctionArg& arg, PyObject* object);

}  // namespace oneop
