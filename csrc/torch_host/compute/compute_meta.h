// compute_meta.h: torch's kernel for fake and meta tensors.
#pragma once

#include "torch_host/ops/torch_op.h"

namespace oneop {

// The same inference as on a real device, no kernel.
void compute_meta(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

}  // namespace oneop
