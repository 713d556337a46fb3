// sharded_calls.h: showing differentiated calls on tensors of Python's (DTensor) to the sharding
// adapter, which decides where their gradients live.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include "interpreter/python_ref.h"
#include "torch_host/calls/calls.h"
#include "torch_host/calls/tensor_rules.h"

namespace oneop {

// Has `function(inputs, outputs)` called after each call that was recorded for backward and has an
// input of a Python class. It returns None, or a function that gives zeros like output i.
void watch_sharded_calls(const pybind11::function& function);

// False at once where nobody watches.
bool is_watched_call(const CallTensors& call);
TensorList copy_tensors(const CallTensors& call);
PyShared show_sharded_call(const TensorList& inputs, const OutputTensors& outputs);
at::Tensor zeros_on_mesh(const PyShared& function, size_t output);

// Has `function(name, arguments)` called for compositions that torch differentiates on
// tensors of a Python class. It returns what the op does, or NotImplemented for tensors that it
// leaves alone.
void set_sharded_composition(const pybind11::function& function);

// Runs a composition on the parts of DTensors, below the op's signature: its body never sees a
// DTensor, so each part is differentiated by itself. False: there is none among the tensors.
bool run_sharded_composition(const c10::OperatorHandle& handle, const CallTensors& call,
                             int32_t num_args, torch::jit::Stack* stack);

}  // namespace oneop
