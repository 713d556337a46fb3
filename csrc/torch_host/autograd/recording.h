// recording.h: putting a call into torch's graph.
#pragma once

#include "torch_host/autograd/op_node.h"
#include "torch_host/calls/calls.h"

namespace oneop {

// Recording a call whose gradient is known, in two halves: before and after it runs.
PtrOf<OpNode> start_node(const TorchOp& op, std::shared_ptr<const Backward> plan,
                         const CallTensors& call, const uint8_t* needs);
void finish_node(const PtrOf<OpNode>& node, const Layout& layout, const int32_t* output_counts,
                 const OutputTensors& outputs);

// The edges to the inputs that need a gradient, and the outputs' to the node.
torch::autograd::edge_list edges_of(const CallTensors& call, const uint8_t* needs);
void set_histories(const NodePtr& node, const Layout& layout, const int32_t* counts,
                   const OutputTensors& outputs);

// Whether torch differentiates through this output.
bool is_differentiable(const Layout& layout, size_t output_arg, c10::ScalarType dtype);

}  // namespace oneop
