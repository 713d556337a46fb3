// derived_forward.h: tangents of an op that has a gradient and no forward-mode rule.
#pragma once

#include <functional>

#include "torch_host/calls/calls.h"
#include "torch_host/calls/tensor_rules.h"

namespace oneop {

// A call of an op that records what its gradient needs.
using AutogradCall = std::function<torch::jit::Stack(torch::jit::Stack)>;

// All tensors among the results of a call, those of lists too.
TensorList tensors_of(const torch::jit::Stack& results);

// The tangents of the outputs; `results` gets those of the call. The op runs once: a second run of
// a random op would draw other numbers, and tangents must be those of the results.
//
// The gradient of an op is linear in the gradients of its outputs, u.
// Its derivative with respect to u, applied to the tangents of the inputs, is the product of the
// Jacobian and these tangents. So the op runs with a gradient, that gradient is taken at u = 0, and
// differentiated once more. Throws OpNotImplementedError where a backward op has no gradient of its
// own.
TensorList derive_tangents(const Layout& layout, const torch::jit::Stack& primals,
                           const TensorList& tangents, const AutogradCall& call,
                           torch::jit::Stack* results);

}  // namespace oneop
