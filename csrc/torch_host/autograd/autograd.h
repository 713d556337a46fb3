// autograd.h: one autograd node for every op, made from its registered gradient.
#pragma once

#include "engine/plans/grad_plan.h"
#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

// torch's Autograd kernel of every op: runs it below autograd and, where a gradient is needed,
// records how.
void compute_autograd(const TorchOp& op, const c10::OperatorHandle& handle,
                      c10::DispatchKeySet keys, torch::jit::Stack* stack);

// torch's ADInplaceOrView kernel of ops that write to inputs: these count as changed, so a graph
// that saved them notices.
void count_changes(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                   torch::jit::Stack* stack);

// The graph of a gradient, for one call. `needs` has a flag for each input tensor.
std::shared_ptr<const GradPlan> make_plan(const GradDef& grad, const Layout& layout,
                                          const c10::IValue* args, const CallTensors& call,
                                          const std::vector<uint8_t>& needs,
                                          const SizeReader& read_symbol, bool* read_shapes);

}  // namespace oneop
