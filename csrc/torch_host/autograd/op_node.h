// op_node.h: the node that a differentiated call leaves in torch's graph.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/headeronly/version.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/plans/grad_plan.h"
#include "interpreter/python_ref.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
using NodePtr = c10::intrusive_ptr<torch::autograd::Node>;
template <typename T>
using PtrOf = c10::intrusive_ptr<T>;
#else
using NodePtr = std::shared_ptr<torch::autograd::Node>;
template <typename T>
using PtrOf = std::shared_ptr<T>;
#endif

// How gradients are computed: those of the inputs from those of the outputs.
struct Backward {
  explicit Backward(std::shared_ptr<const GradPlan> grad_plan) : plan(std::move(grad_plan)) {}
  virtual ~Backward() = default;
  // For the steps of a plan; see bound_grad.h.
  static std::shared_ptr<const Backward> of(std::shared_ptr<const GradPlan> plan);

  // `blobs` has room for all of the plan's, with the saved tensors in their places. `wanted` has a
  // flag for each input; empty means all.
  using Blobs = c10::SmallVector<at::Tensor, 8>;
  virtual torch::autograd::variable_list run(Blobs* blobs,
                                             const torch::autograd::variable_list& grads,
                                             const std::vector<bool>& wanted) const = 0;
  // The same with saved tensors in the order of plan->saved.
  torch::autograd::variable_list run_saved(const torch::autograd::variable_list& saved,
                                           const torch::autograd::variable_list& grads,
                                           const std::vector<bool>& wanted) const;

  const std::shared_ptr<const GradPlan> plan;
};

class OpNode final : public torch::autograd::Node {
 public:
  OpNode(const TorchOp* op, std::shared_ptr<const Backward> plan,
         torch::autograd::edge_list&& edges)
      : Node(std::move(edges)), op_(op), plan_(std::move(plan)) {}
  void save(const at::Tensor& tensor, bool is_output);
  const GradPlan& plan() const { return *plan_->plan; }
  // `function(i)` gives zeros for output i, where a plain tensor of zeros would not do. Null: it
  // does.
  void set_zeros(PyShared function) { zeros_ = std::move(function); }

  std::string name() const override { return op_->name() + "Backward"; }
  torch::autograd::variable_list apply(torch::autograd::variable_list&& grads) override;
  void release_variables() override;
  void compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const override;
  torch::autograd::variable_list apply_with_saved(
      const torch::autograd::variable_list& inputs,
      torch::dynamo::autograd::SwapSavedVariables& saved) override;

 private:
  std::vector<bool> wanted_inputs() const;
  void check_results(const torch::autograd::variable_list& results) const;

  at::Tensor unpack_saved(size_t i);

  const TorchOp* op_;
  std::shared_ptr<const Backward> plan_;
  // In the order of plan().saved: inputs, then outputs.
  c10::SmallVector<torch::autograd::SavedVariable, 2> saved_;
  size_t num_saved_inputs_ = 0;
  PyShared zeros_;
};

PtrOf<OpNode> make_node(const TorchOp* op, std::shared_ptr<const Backward> plan,
                        torch::autograd::edge_list&& edges);

// Raises when something is propagated through it.
NodePtr make_missing_gradient_node(const std::string& op, torch::autograd::edge_list&& edges);
std::string missing_gradient_text(const std::string& op);

// True on a thread that is inside the backward of one of our nodes.
bool is_in_backward();

}  // namespace oneop
