// tensor_rules.h: what may be registered for an op beside the ABI's callbacks, because it works on
// torch's tensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/plans/grad_plan.h"
#include "engine/plans/plan.h"
#include "torch_host/calls/calls.h"

namespace oneop {

// Infers outputs without making numbers of symbolic sizes.
class SymbolicInference {
 public:
  virtual ~SymbolicInference() = default;
  // Meta tensors.
  virtual OutputTensors infer(const Layout& layout, const c10::IValue* args,
                              const CallTensors& call) const = 0;
};

// A kernel that is a composition of torch's ops.
class TensorKernel {
 public:
  virtual ~TensorKernel() = default;
  // Below autograd, for a plan: the outputs are as it says.
  virtual void run(const Layout& layout, const CallTensors& call, const CallPlan& plan,
                   OutputTensors* outputs) const = 0;
  // Anywhere, so that torch sees every op of it. The outputs are whatever the author returns.
  virtual OutputTensors trace(const Layout& layout, const c10::IValue* args,
                              const CallTensors& call) const = 0;
};

// The composition that would run for these tensors, going by devices and dtypes alone; null where
// another kernel would.
const TensorKernel* find_composition(const OpRecord& record, const CallTensors& call,
                                     bool is_for_autograd);

using TensorList = std::vector<at::Tensor>;  // torch::autograd::variable_list

// A gradient written as a function of tensors.
class TensorGradCall : public GradCall {
 public:
  // One gradient for each input tensor, undefined where there is none. `saved` is in the order of
  // GradPlan::saved. `wanted` has a flag for each input; empty means all.
  virtual TensorList run(const TensorList& saved, const TensorList& grads,
                         const std::vector<bool>& wanted) const = 0;
};

// Tangents of the outputs from those of the inputs.
class ForwardRule {
 public:
  virtual ~ForwardRule() = default;
  // `tangents` has one entry for each input tensor, undefined where it has none.
  virtual TensorList run(const Layout& layout, const c10::IValue* args, const TensorList& primals,
                         const TensorList& tangents, const TensorList& outputs) const = 0;
};

}  // namespace oneop
