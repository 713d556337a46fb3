// autograd.h: one autograd node for every op, made from its registered gradient.
#pragma once

#include "autograd_node.h"
#include "calls.h"
#include "compute.h"
#include "torch_op.h"

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

// Recording a call whose gradient is known, in two halves: before and after it runs.
PtrOf<OpNode> start_node(const TorchOp& op, std::shared_ptr<const BoundGradPlan> plan,
                         const CallTensors& call, const uint8_t* needs);
void finish_node(const PtrOf<OpNode>& node, const Layout& layout, const int32_t* output_counts,
                 const OutputTensors& outputs);

// True where an input carries a forward-mode tangent.
bool has_tangents(const CallTensors& call);

// The call on the inputs without their tangents, then the op's rule for those. forward_mode.cpp
void compute_forward_mode(const TorchOp& op, const c10::OperatorHandle& handle,
                          c10::DispatchKeySet keys, torch::jit::Stack* stack);

}  // namespace oneop
