// call_spec.h: call specs from Python values, for those who ask about a call without making it.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <utility>
#include <vector>

#include "engine/frames/frame.h"
#include "interpreter/python_error.h"

namespace oneop {

// Shape and dtype of each tensor of each input argument.
using TensorsByArgument = std::vector<std::vector<std::pair<std::vector<int64_t>, at::ScalarType>>>;

// Attributes that are not given get their default. Throws ArgumentError.
CallSpec make_call_spec(const OpDef& op, const TensorsByArgument& inputs,
                        const std::vector<int32_t>& output_counts, const pybind11::dict& attrs);

// Runs `act` so that core errors arrive as Python exceptions.
template <typename Act>
auto raising(const Act& act) {
  try {
    return act();
  } catch (const Error& error) {
    set_python_error(error);
    throw pybind11::error_already_set();
  }
}

}  // namespace oneop
