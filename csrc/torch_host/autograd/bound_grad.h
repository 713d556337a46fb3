// bound_grad.h: a gradient that is ready to run.
#pragma once

#include <memory>
#include <vector>

#include "torch_host/autograd/op_node.h"

namespace oneop {

// A GradPlan with torch's handles and values in place of names.
struct BoundGradPlan final : Backward {
  struct Step {
    const TorchOp* op = nullptr;     // null: a call of torch's own
    std::vector<c10::IValue> attrs;  // and the counts of the outputs, where the op asks for them
    PlanKey attr_key;                // their words in the key of the call
    int32_t schema_version = 0;      // of the op when this was made
  };
  using Backward::Backward;
  std::vector<Step> steps;

  static std::shared_ptr<const BoundGradPlan> bind(std::shared_ptr<const GradPlan> plan);
  torch::autograd::variable_list run(Blobs* blobs, const torch::autograd::variable_list& grads,
                                     const std::vector<bool>& wanted) const override;

 private:
  void run_step(size_t step, Blobs* blobs) const;
  void run_call(const GradStep& step, Blobs* blobs) const;
};

}  // namespace oneop
