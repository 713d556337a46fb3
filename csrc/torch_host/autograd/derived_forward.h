// derived_forward.h: tangents of an op that has a gradient and no forward-mode rule.
#pragma once

#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

// The tangents of the outputs. The gradient of an op is linear in the gradients of its outputs, u.
// Its derivative with respect to u, applied to the tangents of the inputs, is the product of the
// Jacobian and these tangents. So the op runs with a gradient, that gradient is taken at u = 0, and
// differentiated once more. Throws OpNotImplementedError where a backward op has no gradient of its
// own.
TensorList derive_tangents(const TorchOp& op, const c10::OperatorHandle& handle,
                           c10::DispatchKeySet keys, const torch::jit::Stack& primals,
                           const TensorList& tangents);

}  // namespace oneop
