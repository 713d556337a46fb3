// gradient.cpp: running a gradient generator, and checking what it says.
#include "engine/plans/gradient.h"

#include <algorithm>

#include "engine/ops/error.h"
#include "engine/plans/grad_collector.h"

namespace oneop {
namespace {

// Drops steps whose outputs no bound gradient depends on, and notes what the others read.
void prune(GradPlan* plan) {
  std::vector<uint8_t> needed(plan->num_blobs, 0);
  for (int32_t blob : plan->grad_of_input) {
    if (blob >= 0) {
      needed[blob] = 1;
    }
  }
  std::vector<GradStep> kept;
  for (auto step = plan->steps.rbegin(); step != plan->steps.rend(); ++step) {
    bool is_needed = false;
    for (int32_t i = 0; i < step->num_outputs; ++i) {
      is_needed |= needed[step->first_output + i];
    }
    if (!is_needed) {
      continue;
    }
    for (const auto& blobs : step->inputs) {
      for (int32_t blob : blobs) {
        needed[blob] = 1;
      }
    }
    kept.push_back(std::move(*step));
  }
  std::reverse(kept.begin(), kept.end());
  plan->steps = std::move(kept);
  for (int32_t blob = 0; blob < plan->first_grad_blob(); ++blob) {
    if (needed[blob]) {
      plan->saved.push_back(blob);
    }
  }
  for (int32_t i = 0; i < plan->num_outputs; ++i) {
    plan->reads_grad.push_back(needed[plan->first_grad_blob() + i]);
  }
}

// The plan of a gradient that is one function: what it reads is declared.
void plan_function(const GradRule& rule, const Frame& frame, const std::vector<uint8_t>& needs_grad,
                   GradPlan* plan) {
  const oneop_frame& abi = frame.get();
  const auto save = [&](const oneop_arg* args, int32_t count) {
    for (int32_t a = 0; a < count; ++a) {
      const bool is_read =
          std::find(rule.saves.begin(), rule.saves.end(), args[a].name) != rule.saves.end();
      for (int32_t i = 0; is_read && i < args[a].count; ++i) {
        plan->saved.push_back(args[a].first + i);
      }
    }
  };
  save(abi.inputs, abi.num_inputs);
  save(abi.outputs, abi.num_outputs);
  for (size_t i = 0; i < needs_grad.size(); ++i) {
    if (needs_grad[i]) {
      plan->grad_of_input[i] = 0;
    }
  }
  plan->reads_grad.assign(plan->num_outputs, 1);
  plan->function = rule.bind(abi, needs_grad);
}

// What errors of a gradient begin and end with.
std::string name_of(const GradDef& grad) {
  return "the gradient of op " + in_quotes(grad.op_type_name);
}

[[noreturn]] void refuse(const GradDef& grad, const std::string& text) {
  throw Error("GradientError", text + "\n  at " + grad.source.text());
}

// Runs the author's generator: afterwards the plan has its steps, and the blob of each gradient.
void generate(const GradDef& grad, Frame* frame, const std::vector<uint8_t>& needs_grad,
              const std::vector<uint8_t>& has_grad, GradPlan* plan) {
  const std::string name = name_of(grad);
  GradCollector collector(grad.package, frame, plan);
  frame->abi()->input_needs_grad = needs_grad.data();
  frame->abi()->output_has_grad = has_grad.data();
  Status status;
  const int32_t code =
      grad.abi.generate(grad.abi.self, frame->abi(), collector.abi(), status.abi());
  frame->abi()->input_needs_grad = nullptr;
  frame->abi()->output_has_grad = nullptr;
  if (code != ONEOP_OK || status.failed()) {
    const std::string message = status.message();  // some begin with the name themselves
    refuse(grad, (message.compare(0, name.size(), name) == 0 ? "" : name + ": ") + message);
  }
  try {
    for (int32_t& blob : plan->grad_of_input) {
      if (blob >= 0) {
        blob = collector.ours(blob);
      }
    }
  } catch (const Error& error) {
    refuse(grad, name + ": " + error.what());
  }
}

// Throws unless each input that needs a gradient got one.
void check_inputs(const GradDef& grad, const Frame& frame, const std::vector<uint8_t>& needs_grad,
                  const GradPlan& plan) {
  for (int32_t a = 0; a < frame.get().num_inputs; ++a) {
    const oneop_arg& arg = frame.get().inputs[a];
    for (int32_t i = 0; i < arg.count; ++i) {
      if (needs_grad[arg.first + i] && plan.grad_of_input[arg.first + i] == -1) {
        refuse(grad, name_of(grad) + " gives none for input " + in_quotes(arg.name) +
                         "\n  bind one with InputGradBind, or mark the input as not "
                         "differentiable: .SetInputArgModifyFn, set_requires_grad(false)");
      }
    }
  }
}

// Throws if the plan reads the gradient of an output that has none.
void check_outputs(const GradDef& grad, const Frame& frame, const std::vector<uint8_t>& has_grad,
                   const GradPlan& plan) {
  for (int32_t a = 0; a < frame.get().num_outputs; ++a) {
    const oneop_arg& arg = frame.get().outputs[a];
    const int32_t first = arg.first - plan.num_inputs;
    for (int32_t i = first; i < first + arg.count; ++i) {
      if (plan.reads_grad[i] && !has_grad[i]) {
        refuse(grad, name_of(grad) + " reads the gradient of output " + in_quotes(arg.name) +
                         ", which has none: it is " + dtype_name(frame.output(i).dtype) +
                         " or marked as not differentiable\n  test with HasGradTensor4OpOutput "
                         "first");
      }
    }
  }
}

}  // namespace

GradPlan no_grad_plan(const GradDef& grad, const Frame& frame) {
  GradPlan plan;
  plan.name = name_of(grad);
  plan.place = grad.source.text();
  for (int32_t a = 0; a < frame.get().num_inputs; ++a) {
    const oneop_arg& arg = frame.get().inputs[a];
    for (int32_t i = 0; i < arg.count; ++i) {
      plan.input_names.push_back(arg.count == 1 ? arg.name
                                                : arg.name + ("[" + std::to_string(i) + "]"));
    }
  }
  plan.num_inputs = frame.get().num_input_tensors;
  plan.num_outputs = frame.get().num_output_tensors;
  plan.num_blobs = plan.num_inputs + 2 * plan.num_outputs;
  plan.grad_of_input.assign(plan.num_inputs, -1);
  plan.reads_grad.assign(plan.num_outputs, 0);
  return plan;
}

GradPlan make_grad_plan(const GradDef& grad, Frame* frame, const std::vector<uint8_t>& needs_grad,
                        const std::vector<uint8_t>& has_grad) {
  GradPlan plan = no_grad_plan(grad, *frame);
  plan.reads_grad.clear();
  if (grad.rule != nullptr) {
    plan_function(*grad.rule, *frame, needs_grad, &plan);
    return plan;
  }
  generate(grad, frame, needs_grad, has_grad, &plan);
  check_inputs(grad, *frame, needs_grad, plan);
  for (int32_t& blob : plan.grad_of_input) {
    blob = blob == GradCollector::kNoGradient ? -1 : blob;
  }
  prune(&plan);
  check_outputs(grad, *frame, has_grad, plan);
  return plan;
}

}  // namespace oneop
