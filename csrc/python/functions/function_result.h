// function_result.h: what a function of a library returns, and its form in Python.
#pragma once

#include <ATen/core/Tensor.h>
#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "python/functions/function_signature.h"

namespace oneop {

// Owns all that the library hands over: its own memory is its own again after the call.
struct FunctionResult : oneop_result {
  oneop_value value{};
  at::Tensor tensor;
  struct Lists {
    std::vector<at::Tensor> tensors;
    std::vector<int64_t> ints;
    std::string text;
  };
  std::unique_ptr<Lists> lists;  // for the values that need memory

  FunctionResult() : oneop_result{sizeof(oneop_result), &set_value, &give_tensor} {}

  static void give_tensor(oneop_result* result, oneop_handle owned);
  static void set_value(oneop_result* result, const oneop_value* value);

  // A new reference, or null with a Python error set. Takes the tensors out.
  PyObject* wrap(const FunctionSignature& signature);

 private:
  PyObject* wrap_shape() const;
  PyObject* wrap_tuple(const FunctionSignature& signature);
};

}  // namespace oneop
