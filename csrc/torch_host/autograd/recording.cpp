// recording.cpp: the node of a call, its edges, and what it saves.
#include "torch_host/autograd/recording.h"

#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

namespace oneop {

using torch::autograd::edge_list;

bool is_differentiable(const Layout& layout, size_t output_arg, c10::ScalarType dtype) {
  return layout.op->output_traits[output_arg].requires_grad &&
         torch::autograd::isDifferentiableType(dtype);
}

edge_list edges_of(const CallTensors& call, const uint8_t* needs) {
  edge_list edges;
  edges.reserve(call.tensors.size());
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    edges.push_back(needs[i] ? torch::autograd::impl::gradient_edge(*call.tensors[i])
                             : torch::autograd::Edge());
  }
  return edges;
}

void set_histories(const NodePtr& node, const Layout& layout, const int32_t* counts,
                   const OutputTensors& outputs) {
  size_t at = 0;
  for (size_t a = 0; a < layout.op->outputs.size(); ++a) {
    for (int32_t k = 0; k < counts[a]; ++k, ++at) {
      if (is_differentiable(layout, a, outputs[at].scalar_type())) {
        torch::autograd::set_history(outputs[at], node);
      } else {
        node->add_input_metadata(torch::autograd::Node::undefined_input());
      }
    }
  }
}

PtrOf<OpNode> start_node(const TorchOp& op, std::shared_ptr<const Backward> plan,
                         const CallTensors& call, const uint8_t* needs) {
  const GradPlan& grad = *plan->plan;
  auto node = make_node(&op, std::move(plan), edges_of(call, needs));
  for (int32_t blob : grad.saved) {
    if (blob < grad.num_inputs) {
      node->save(*call.tensors[blob], /*is_output=*/false);
    }
  }
  return node;
}

void finish_node(const PtrOf<OpNode>& node, const Layout& layout, const int32_t* output_counts,
                 const OutputTensors& outputs) {
  set_histories(node, layout, output_counts, outputs);
  const GradPlan& grad = node->plan();
  for (int32_t blob : grad.saved) {  // after set_history, or the graph would hold itself
    if (blob >= grad.num_inputs) {
      node->save(outputs[blob - grad.num_inputs], /*is_output=*/true);
    }
  }
}

}  // namespace oneop
