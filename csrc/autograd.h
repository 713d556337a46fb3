// autograd.h: one autograd node for every op, made from its registered gradient.
#pragma once

#include "torch_op.h"

namespace oneop {

// torch's Autograd kernel of every op: runs it below autograd and, where a gradient is needed, records how.
void compute_autograd(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                      torch::jit::Stack* stack);

}  // namespace oneop
