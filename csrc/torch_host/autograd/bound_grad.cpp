// bound_grad.cpp: running the steps of a gradient.
#include "torch_host/autograd/bound_grad.h"

#include "engine/ops/error.h"
#include "torch_host/autograd/direct_call.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/handles/torch_call.h"
#include "torch_host/interpreter/python_throw.h"

namespace oneop {
namespace {

using torch::autograd::variable_list;

// The steps that the wanted gradients depend on.
std::vector<bool> steps_for(const GradPlan& plan, const std::vector<bool>& wanted) {
  std::vector<bool> keep(plan.steps.size(), false);
  std::vector<uint8_t> needed(plan.num_blobs, 0);
  for (size_t i = 0; i < plan.grad_of_input.size(); ++i) {
    if (plan.grad_of_input[i] >= 0 && wanted[i]) {
      needed[plan.grad_of_input[i]] = 1;
    }
  }
  for (size_t s = plan.steps.size(); s-- > 0;) {
    const GradStep& step = plan.steps[s];
    for (int32_t i = 0; i < step.num_outputs; ++i) {
      if (needed[step.first_output + i]) {
        keep[s] = true;
      }
    }
    if (!keep[s]) {
      continue;
    }
    for (const auto& blobs : step.inputs) {
      for (int32_t blob : blobs) {
        needed[blob] = 1;
      }
    }
  }
  return keep;
}

void push_inputs(const Layout& layout, const GradStep& step, const Backward::Blobs& blobs,
                 torch::jit::Stack* stack) {
  for (size_t a = 0; a < step.inputs.size(); ++a) {
    switch (layout.inputs[a]) {
      case Layout::Input::kTensor:
        stack->emplace_back(blobs[step.inputs[a][0]]);
        break;
      case Layout::Input::kOptional:
        if (step.inputs[a].empty()) {
          stack->emplace_back();
        } else {
          stack->emplace_back(blobs[step.inputs[a][0]]);
        }
        break;
      case Layout::Input::kList: {
        c10::List<at::Tensor> list;
        for (int32_t blob : step.inputs[a]) {
          list.push_back(blobs[blob]);
        }
        stack->emplace_back(std::move(list));
        break;
      }
    }
  }
}

// A step that calls one of torch's own ops.
const RecordedCall& recorded(const GradStep& step) {
  return static_cast<const RecordedCall&>(*step.call);
}

}  // namespace

std::shared_ptr<const Backward> Backward::of(std::shared_ptr<const GradPlan> plan) {
  return BoundGradPlan::bind(std::move(plan));
}

std::shared_ptr<const BoundGradPlan> BoundGradPlan::bind(std::shared_ptr<const GradPlan> plan) {
  auto bound = std::make_shared<BoundGradPlan>(plan);
  for (const GradStep& step : plan->steps) {
    if (step.call != nullptr) {
      bound->steps.push_back({});  // it is bound already
      continue;
    }
    Step bound_step{&TorchOp::find(step.op), {}, {}};
    const RecordPtr record = bound_step.op->record();
    bound_step.schema_version = record->layout->schema_version;
    // The op may have other attributes by now. The key then fits no call: the schema's version
    // tells.
    const std::vector<AttrDef>& attrs = record->op->attrs;
    for (size_t i = 0; i < step.attrs.size(); ++i) {
      bound_step.attrs.push_back(to_ivalue(step.attrs[i]));
      append_attr_key(i < attrs.size() ? attrs[i] : AttrDef(), bound_step.attrs.back(),
                      &bound_step.attr_key);
    }
    if (record->layout->returns_list()) {
      bound_step.attrs.emplace_back(
          std::vector<int64_t>(step.output_counts.begin(), step.output_counts.end()));
      append_ivalue_key(bound_step.attrs.back(), &bound_step.attr_key);
    }
    bound->steps.push_back(std::move(bound_step));
  }
  return bound;
}

void BoundGradPlan::run_call(const GradStep& step, Blobs* blobs) const {
  variable_list inputs;
  for (int32_t blob : step.inputs[0]) {
    inputs.push_back((*blobs)[blob]);
  }
  try {
    variable_list outputs = recorded(step).run(inputs);
    if (outputs.size() != static_cast<size_t>(step.num_outputs)) {
      throw Error("GradientError", in_quotes(recorded(step).name()) + " returns " +
                                       std::to_string(outputs.size()) + " tensors, expected " +
                                       std::to_string(step.num_outputs) + "\n  in " + plan->name +
                                       " at " + plan->place);
    }
    std::move(outputs.begin(), outputs.end(), blobs->begin() + step.first_output);
  } catch (c10::Error& error) {  // torch's message does not say whose call it was
    error.add_context("in " + in_quotes(recorded(step).name()) + ", called by " + plan->name +
                      " at " + plan->place);
    throw;
  }
}

// long: a direct call, and the ordinary one for when it cannot be.
void BoundGradPlan::run_step(size_t s, Blobs* blobs) const {
  const GradStep& step = plan->steps[s];
  if (step.call != nullptr) {
    return run_call(step, blobs);
  }
  const TorchOp& op = *steps[s].op;
  CallRecord record(op);
  const Layout& layout = record.layout();
  if (layout.schema_version != steps[s].schema_version) {
    throw Error("GradientError",
                "backward op " + in_quotes(op.name()) +
                    " was redefined with other arguments after the forward call\n  "
                    "run forward again\n  defined at " +
                    layout.op->source.text());
  }
  const auto keep = [&](size_t i, at::Tensor output) {
    (*blobs)[step.first_output + i] = std::move(output);
  };

  // 1. What this thread did before needs nothing from the dispatcher.
  OutputTensors outputs;
  const bool is_done = call_directly(
      op, *record, &outputs,
      [&](size_t a, DirectCall* call) {
        for (int32_t blob : step.inputs[a]) {
          if (!call->add_tensor((*blobs)[blob])) {
            return false;
          }
        }
        return true;
      },
      [&](PlanKey* key) {
        key->insert(key->end(), steps[s].attr_key.begin(), steps[s].attr_key.end());
        return true;
      },
      [&](DirectCall* call) {
        call->begin();
        call->compute();
        call->end();
        for (size_t i = 0; i < outputs.size(); ++i) {
          keep(i, std::move(outputs[i]));
        }
      });
  if (is_done) {
    return;
  }

  // 2. Everything else is an ordinary call.
  record.hold();
  torch::jit::Stack stack;
  stack.reserve(layout.num_args);
  push_inputs(layout, step, *blobs, &stack);
  stack.insert(stack.end(), steps[s].attrs.begin(), steps[s].attrs.end());
  if (layout.device_arg >= 0) {
    stack.emplace_back();
  }
  op.dispatch_or_throw(layout, &stack);
  outputs = take_outputs(layout, &stack);
  for (size_t i = 0; i < outputs.size(); ++i) {
    keep(i, std::move(outputs[i]));
  }
}

variable_list BoundGradPlan::run(Blobs* blobs, const variable_list& grads,
                                 const std::vector<bool>& wanted) const {
  for (size_t i = 0; i < grads.size(); ++i) {
    (*blobs)[plan->first_grad_blob() + i] = grads[i];
  }
  try {
    if (plan->function != nullptr) {
      variable_list saved;
      for (int32_t blob : plan->saved) {
        saved.push_back((*blobs)[blob]);
      }
      return static_cast<const TensorGradCall&>(*plan->function).run(saved, grads, wanted);
    }
    if (wanted.empty()) {
      for (size_t s = 0; s < plan->steps.size(); ++s) {
        run_step(s, blobs);
      }
    } else {
      const std::vector<bool> keep = steps_for(*plan, wanted);
      for (size_t s = 0; s < plan->steps.size(); ++s) {
        if (keep[s]) {
          run_step(s, blobs);
        }
      }
    }
  } catch (const Error& error) {
    throw_python_error(error);
  }
  variable_list results(plan->num_inputs);
  for (int32_t i = 0; i < plan->num_inputs; ++i) {
    const bool is_wanted = wanted.empty() || wanted[i];
    if (plan->grad_of_input[i] >= 0 && is_wanted) {
      results[i] = (*blobs)[plan->grad_of_input[i]];
    }
  }
  return results;
}

}  // namespace oneop
