// forward_mode.h: calls on inputs with tangents.
#pragma once

#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

// True where an input carries a forward-mode tangent.
bool has_tangents(const CallTensors& call);

// The call on the inputs without their tangents, then the op's rule for those, or a derived one.
void compute_forward_mode(const TorchOp& op, const c10::OperatorHandle& handle,
                          c10::DispatchKeySet keys, torch::jit::Stack* stack);

}  // namespace oneop
