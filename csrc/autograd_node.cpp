// autograd_node.cpp: running a gradient, eagerly or under compiled autograd.
#include "autograd_node.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <mutex>
#include <unordered_map>

#include "calls.h"
#include "direct_call.h"
#include "error.h"
#include "python_error.h"
#include "sharded_calls.h"
#include "tensor_rules.h"
#include "torch_call.h"

namespace oneop {
namespace {

using torch::autograd::variable_list;

thread_local int backward_depth = 0;

struct InBackward {
  InBackward() { ++backward_depth; }
  ~InBackward() { --backward_depth; }
};

template <typename T, typename... Args>
PtrOf<T> make_node_of(Args&&... args) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
  return c10::make_intrusive<T>(std::forward<Args>(args)...);
#else
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), torch::autograd::deleteNode);
#endif
}

class MissingGradientNode final : public torch::autograd::Node {
 public:
  MissingGradientNode(std::string op, torch::autograd::edge_list&& edges)
      : Node(std::move(edges)), op_(std::move(op)) {}
  std::string name() const override { return op_ + "HasNoGradient"; }
  variable_list apply(variable_list&& grads) override {
    for (const at::Tensor& grad : grads) {
      if (grad.defined()) {
        throw_python_error(Error("GradientNotFoundError", missing_gradient_text(op_)));
      }
    }
    return variable_list(num_outputs());
  }

 private:
  std::string op_;
};

// Compiled autograd hands plans through a graph as numbers, so those it has seen stay.
class PlanNumbers {
 public:
  static int64_t number_of(const std::shared_ptr<const BoundGradPlan>& plan) {
    std::lock_guard<std::mutex> lock(mutex());
    all()[reinterpret_cast<int64_t>(plan.get())] = plan;
    return reinterpret_cast<int64_t>(plan.get());
  }
  static std::shared_ptr<const BoundGradPlan> find(int64_t number) {
    std::lock_guard<std::mutex> lock(mutex());
    return all().at(number);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex* mutex = new std::mutex;
    return *mutex;
  }
  static std::unordered_map<int64_t, std::shared_ptr<const BoundGradPlan>>& all() {
    static auto* plans = new std::unordered_map<int64_t, std::shared_ptr<const BoundGradPlan>>;
    return *plans;
  }
};

variable_list run_traced(const variable_list& grads, const std::vector<c10::IValue>& args) {
  torch::dynamo::autograd::PackedArgs packed(args);
  const auto number = packed.unpack<int64_t>();
  const auto saved = packed.unpack<variable_list>();
  const auto wanted = packed.unpack<std::vector<bool>>();
  InBackward guard;
  return PlanNumbers::find(number)->run(saved, grads, wanted);
}

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

void push_inputs(const Layout& layout, const GradStep& step, const BoundGradPlan::Blobs& blobs,
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

}  // namespace

bool is_in_backward() { return backward_depth > 0; }

std::string missing_gradient_text(const std::string& op) {
  const OpSlot* slot = Registry::global().find_slot(op);
  const RecordPtr record = slot == nullptr ? nullptr : slot->record();
  const bool is_python = record != nullptr && record->op->source.is_python();
  return "op " + in_quotes(op) +
         " has no gradient, and one is needed: an input requires grad\n  add one: " +
         (is_python ? "@oneop.ops." + op + ".register_grad"
                    : "REGISTER_USER_OP_GRAD(" + in_quotes(op) + ")") +
         "\n  or declare it not differentiable: " +
         (is_python ? "define(..., differentiable=False)" : ".NoGrad()") +
         "\n  or call it under torch.no_grad(), or on "
         "x.detach()" +
         (record == nullptr ? "" : "\n  defined at " + record->op->source.text());
}

std::shared_ptr<const BoundGradPlan> BoundGradPlan::bind(std::shared_ptr<const GradPlan> plan) {
  auto bound = std::make_shared<BoundGradPlan>();
  for (const GradStep& step : plan->steps) {
    if (step.call != nullptr) {
      bound->steps.push_back({});  // it is bound already
      continue;
    }
    Step bound_step{&TorchOp::find(step.op), {}, {}};
    const RecordPtr record = bound_step.op->record();
    bound_step.schema_version = record->layout->schema_version;
    for (const AttrValue& attr : step.attrs) {
      bound_step.attrs.push_back(to_ivalue(attr));
    }
    if (record->layout->returns_list()) {
      bound_step.attrs.emplace_back(
          std::vector<int64_t>(step.output_counts.begin(), step.output_counts.end()));
    }
    for (const c10::IValue& attr : bound_step.attrs) {
      append_ivalue_key(attr, &bound_step.attr_key);
    }
    bound->steps.push_back(std::move(bound_step));
  }
  bound->plan = std::move(plan);
  return bound;
}

void BoundGradPlan::run_call(const GradStep& step, Blobs* blobs) const {
  variable_list inputs;
  for (int32_t blob : step.inputs[0]) {
    inputs.push_back((*blobs)[blob]);
  }
  try {
    variable_list outputs = step.call->run(inputs);
    if (outputs.size() != static_cast<size_t>(step.num_outputs)) {
      throw Error("GradientError", in_quotes(step.call->name()) + " returns " +
                                       std::to_string(outputs.size()) + " tensors, expected " +
                                       std::to_string(step.num_outputs) + "\n  in " + plan->text);
    }
    std::move(outputs.begin(), outputs.end(), blobs->begin() + step.first_output);
  } catch (c10::Error& error) {  // torch's message does not say whose call it was
    error.add_context("in " + in_quotes(step.call->name()) + ", called by " + plan->text);
    throw;
  }
}

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
  if (is_plain_thread() && !layout.mutates) {
    DirectCall call(op, *record);
    bool is_plain = true;
    for (const auto& inputs : step.inputs) {
      for (int32_t blob : inputs) {
        is_plain = is_plain && call.add_tensor((*blobs)[blob]);
      }
      call.end_input();
    }
    if (is_plain) {
      call.end_inputs();
      call.key().insert(call.key().end(), steps[s].attr_key.begin(), steps[s].attr_key.end());
      if (call.prepare()) {
        call.begin();
        call.compute();
        OutputTensors& outputs = call.end();
        for (size_t i = 0; i < outputs.size(); ++i) {
          keep(i, std::move(outputs[i]));
        }
        return;
      }
    }
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
  if (layout.returns_list()) {
    const auto list = stack.back().toTensorVector();
    for (size_t i = 0; i < list.size(); ++i) {
      keep(i, list[i]);
    }
  } else {
    for (int32_t i = 0; i < step.num_outputs; ++i) {
      keep(i, std::move(stack[i]).toTensor());
    }
  }
}

variable_list BoundGradPlan::run(const variable_list& saved, const variable_list& grads,
                                 const std::vector<bool>& wanted) const {
  Blobs blobs(plan->num_blobs);
  for (size_t i = 0; i < plan->saved.size(); ++i) {
    blobs[plan->saved[i]] = saved[i];
  }
  return run(&blobs, grads, wanted);
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
      return plan->function->run(saved, grads, wanted);
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

void OpNode::save(const at::Tensor& tensor, bool is_output) {
  saved_.emplace_back(tensor, is_output);
  if (!is_output) {
    ++num_saved_inputs_;
  }
}

void OpNode::release_variables() {
  for (auto& saved : saved_) {
    saved.reset_data();
  }
}

at::Tensor OpNode::unpack_saved(size_t i) {
  return i < num_saved_inputs_ ? saved_[i].unpack() : saved_[i].unpack(getptr());
}

std::vector<bool> OpNode::wanted_inputs() const {
  std::vector<bool> wanted;
  for (size_t i = 0; i < num_outputs(); ++i) {
    if (!task_should_compute_output(i) && plan_->plan->grad_of_input[i] >= 0) {
      wanted.resize(num_outputs());
      for (size_t k = 0; k < wanted.size(); ++k) {
        wanted[k] = task_should_compute_output(k);
      }
      break;
    }
  }
  return wanted;
}

namespace {

// Outputs that nobody used have no gradient; a step that reads it gets zeros.
void fill_missing_grads(const GradPlan& plan, const torch::autograd::Node& node,
                        const PyShared& zeros, variable_list* grads) {
  for (size_t i = 0; i < grads->size(); ++i) {
    if (!(*grads)[i].defined() && plan.reads_grad[i]) {
      const auto& metadata = node.input_metadata(i);
      if (metadata.was_default_constructed()) {
        continue;
      }  // of integers, which have no gradient
      (*grads)[i] = zeros == nullptr ? metadata.zeros_like() : zeros_on_mesh(zeros, i);
    }
  }
}

}  // namespace

variable_list OpNode::apply(variable_list&& grads) {
  bool any = false;
  for (const at::Tensor& grad : grads) {
    any |= grad.defined();
  }
  if (!any) {
    return variable_list(num_outputs());
  }
  fill_missing_grads(*plan_->plan, *this, zeros_, &grads);
  BoundGradPlan::Blobs blobs(plan_->plan->num_blobs);
  for (size_t i = 0; i < saved_.size(); ++i) {
    blobs[plan_->plan->saved[i]] = unpack_saved(i);
  }
  InBackward guard;
  return plan_->run(&blobs, grads, wanted_inputs());
}

void OpNode::compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const {
  args.collect(name());
  args.collect(PlanNumbers::number_of(plan_));
  for (size_t i = 0; i < saved_.size(); ++i) {
    args.collect(saved_[i], i >= num_saved_inputs_);
  }
}

variable_list OpNode::apply_with_saved(const variable_list& inputs,
                                       torch::dynamo::autograd::SwapSavedVariables& swap) {
  using torch::dynamo::autograd::IValuePacker;
  for (auto& variable : saved_) {
    swap.before(variable);
  }
  variable_list grads = inputs;
  fill_missing_grads(*plan_->plan, *this, zeros_, &grads);
  variable_list saved;
  for (size_t i = 0; i < saved_.size(); ++i) {
    saved.push_back(unpack_saved(i));
  }

  torch::dynamo::autograd::PackedArgs packed;
  packed.pack(PlanNumbers::number_of(plan_));
  packed.pack(saved);
  packed.pack(wanted_inputs());
  const std::vector<c10::IValue> args = std::move(packed).vec();
  std::vector<at::TypePtr> schema = {IValuePacker<int64_t>::packed_type(),
                                     IValuePacker<variable_list>::packed_type(),
                                     IValuePacker<std::vector<bool>>::packed_type()};
  const auto output_metadata =
      IValuePacker<std::vector<std::optional<torch::autograd::InputMetadata>>>::pack(
          torch::dynamo::autograd::get_input_metadata(next_edges()));
  const auto& compiler = torch::dynamo::autograd::getPyCompilerInterface();
  const std::string fn =
      compiler->bind_function(swap.get_py_compiler(), name(), &run_traced, schema,
                              /*is_custom_function=*/true, /*is_traceable=*/true);
  const variable_list results = compiler->call_function(swap.get_py_compiler(), "apply_functional",
                                                        fn, grads, args, output_metadata);
  for (auto& variable : saved_) {
    swap.after(variable);
  }
  return results;
}

PtrOf<OpNode> make_node(const TorchOp* op, std::shared_ptr<const BoundGradPlan> plan,
                        torch::autograd::edge_list&& edges) {
  return make_node_of<OpNode>(op, std::move(plan), std::move(edges));
}

NodePtr make_missing_gradient_node(const std::string& op, torch::autograd::edge_list&& edges) {
  return make_node_of<MissingGradientNode>(op, std::move(edges));
}

}  // namespace oneop
