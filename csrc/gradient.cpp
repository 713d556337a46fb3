// gradient.cpp: running a gradient generator, and checking what it says.
#include "gradient.h"

#include <algorithm>

#include "error.h"
#include "tensor_rules.h"

namespace oneop {
namespace {

template <typename List>
int32_t index_of(const List& list, const std::string& name) {
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].name == name) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

constexpr int32_t kNoGradient = -2;  // in grad_of_input: none, and that is meant so

class Collector {
 public:
  explicit Collector(GradPlan* plan) : plan_(plan) {
    sink_.abi.size = sizeof(oneop_grad_sink);
    sink_.abi.add_op = [](oneop_grad_sink* sink, const oneop_grad_op* op, oneop_status* status) {
      return guard(sink, status, [&](Collector* self) { self->add_op(*op); });
    };
    sink_.abi.bind = [](oneop_grad_sink* sink, int32_t input, int32_t blob, oneop_status* status) {
      return guard(sink, status, [&](Collector* self) { self->bind(input, blob); });
    };
    sink_.self = this;
  }
  oneop_grad_sink* abi() { return &sink_.abi; }

 private:
  struct Sink {
    oneop_grad_sink abi;
    Collector* self;
  };

  template <typename Act>
  static int32_t guard(oneop_grad_sink* sink, oneop_status* status, const Act& act) {
    try {
      act(reinterpret_cast<Sink*>(sink)->self);
      return ONEOP_OK;
    } catch (const std::exception& error) {
      return Status::fail(status, ONEOP_ERROR_VALUE, error.what());
    }
  }

  [[noreturn]] static void refuse(const std::string& text) { throw Error("GradientError", text); }

  void add_op(const oneop_grad_op& abi) {
    const OpDef& op = *Registry::global().get(abi.op_type_name).op;
    const std::string where = "backward op " + quoted(op.name);
    GradStep step;
    step.op = op.name;
    step.inputs.resize(op.inputs.size());
    for (int32_t i = 0; i < abi.num_inputs; ++i) {
      const int32_t arg = index_of(op.inputs, abi.inputs[i].arg);
      if (arg < 0) {
        refuse(where + " has no input " + quoted(abi.inputs[i].arg) +
               did_you_mean(abi.inputs[i].arg, op.input_names()));
      }
      if (abi.inputs[i].blob < 0 || abi.inputs[i].blob >= plan_->num_blobs) {
        refuse(where + ", input " + quoted(abi.inputs[i].arg) + ": there is no such blob");
      }
      step.inputs[arg].push_back(abi.inputs[i].blob);
    }
    step.output_counts.assign(op.outputs.size(), 0);
    for (int32_t i = 0; i < abi.num_outputs; ++i) {
      const int32_t arg = index_of(op.outputs, abi.outputs[i].arg);
      if (arg < 0) {
        refuse(where + " has no output " + quoted(abi.outputs[i].arg) +
               did_you_mean(abi.outputs[i].arg, op.output_names()));
      }
      step.output_counts[arg] = abi.outputs[i].count;
    }
    // The library numbers blobs in the order in which it names the outputs, torch returns them in
    // that of the op.
    order_outputs(op, abi, &step);
    step.first_output = plan_->num_blobs;
    for (int32_t count : step.output_counts) {
      step.num_outputs += count;
    }
    plan_->num_blobs += step.num_outputs;

    for (const AttrDef& attr : op.attrs) {
      const oneop_attr* given = nullptr;
      for (int32_t i = 0; i < abi.num_attrs; ++i) {
        if (attr.name == abi.attrs[i].name) {
          given = &abi.attrs[i];
        }
      }
      if (given != nullptr && given->type != attr.type) {
        refuse(where + ", attribute " + quoted(attr.name) + ": expected " +
               attr_type_name(attr.type) + ", found " + attr_type_name(given->type));
      }
      if (given == nullptr && !attr.has_default) {
        refuse(where + " needs the attribute " + quoted(attr.name));
      }
      step.attrs.push_back(given != nullptr ? AttrValue::copy_of(*given) : attr.default_value);
    }
    for (int32_t i = 0; i < abi.num_attrs; ++i) {
      if (index_of(op.attrs, abi.attrs[i].name) < 0) {
        refuse(where + " has no attribute " + quoted(abi.attrs[i].name) +
               did_you_mean(abi.attrs[i].name, op.attr_names()));
      }
    }
    std::vector<int32_t> input_counts;
    for (const auto& blobs : step.inputs) {
      input_counts.push_back(static_cast<int32_t>(blobs.size()));
    }
    check_counts(op, input_counts, step.output_counts);
    plan_->steps.push_back(std::move(step));
  }

  void order_outputs(const OpDef& op, const oneop_grad_op& abi, GradStep* step) {
    // A required output that the generator does not name is still there.
    for (size_t a = 0; a < op.outputs.size(); ++a) {
      if (step->output_counts[a] == 0 && !op.outputs[a].is_optional) {
        step->output_counts[a] = op.outputs[a].count;
      }
    }
    std::vector<int32_t> start(op.outputs.size(), 0);
    for (size_t a = 1; a < op.outputs.size(); ++a) {
      start[a] = start[a - 1] + step->output_counts[a - 1];
    }
    const int32_t base = plan_->num_blobs;
    for (int32_t i = 0; i < abi.num_outputs; ++i) {
      const int32_t arg = index_of(op.outputs, abi.outputs[i].arg);
      for (int32_t k = 0; k < abi.outputs[i].count; ++k) {
        renamed_.push_back(base + start[arg] + k);
      }
    }
  }

  void bind(int32_t input, int32_t blob) {
    if (input < 0 || input >= plan_->num_inputs || blob < -1) {
      refuse("there is no such input or blob to bind");
    }
    plan_->grad_of_input[input] = blob < 0 ? kNoGradient : blob;
  }

 public:
  // From the library's blob numbers to ours, which differ where a backward op's outputs are named
  // out of order.
  int32_t ours(int32_t blob) const {
    const int32_t first = plan_->first_grad_blob() + plan_->num_outputs;
    if (blob < first) {
      return blob;
    }
    const size_t at = blob - first;
    if (at >= renamed_.size()) {
      refuse("a gradient is bound to a blob that no op makes");
    }
    return renamed_[at];
  }

 private:
  GradPlan* plan_;
  Sink sink_;
  std::vector<int32_t> renamed_;
};

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

}  // namespace

std::shared_ptr<const GradPlan> GradCache::find(const PlanKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto plan = plans_.find(key);
  return plan == plans_.end() ? nullptr : plan->second;
}

void GradCache::insert(const PlanKey& key, std::shared_ptr<const GradPlan> plan) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (plans_.size() >= PlanCache::kLimit) {
    plans_.clear();
  }
  plans_[key] = std::move(plan);
}

GradPlan make_grad_plan(const OpRecord& record, Frame* frame,
                        const std::vector<uint8_t>& needs_grad,
                        const std::vector<uint8_t>& has_grad) {
  const std::string name = "the gradient of op " + quoted(record.op->name);
  const oneop_grad_def& abi = record.grad->abi;
  GradPlan plan;
  plan.num_inputs = frame->get().num_input_tensors;
  plan.num_outputs = frame->get().num_output_tensors;
  plan.num_blobs = plan.num_inputs + 2 * plan.num_outputs;
  plan.grad_of_input.assign(plan.num_inputs, -1);
  if (record.grad->rule != nullptr) {
    plan_function(*record.grad->rule, *frame, needs_grad, &plan);
    return plan;
  }

  Collector collector(&plan);
  frame->abi()->input_needs_grad = needs_grad.data();
  frame->abi()->output_has_grad = has_grad.data();
  Status status;
  const int32_t code = abi.generate(abi.self, frame->abi(), collector.abi(), status.abi());
  frame->abi()->input_needs_grad = nullptr;
  frame->abi()->output_has_grad = nullptr;
  if (code != ONEOP_OK || status.failed()) {
    const std::string message = status.message();  // some begin with the name themselves
    throw Error("GradientError", (message.compare(0, name.size(), name) == 0 ? "" : name + ": ") +
                                     message + "\n  at " + record.grad->source.text());
  }
  const std::string at = "\n  at " + record.grad->source.text();
  try {
    for (GradStep& step : plan.steps) {
      for (auto& blobs : step.inputs) {
        for (int32_t& blob : blobs) {
          blob = collector.ours(blob);
        }
      }
    }
    for (int32_t& blob : plan.grad_of_input) {
      if (blob >= 0) {
        blob = collector.ours(blob);
      }
    }
  } catch (const Error& error) {
    throw Error("GradientError", name + ": " + error.what() + at);
  }
  for (int32_t a = 0; a < frame->get().num_inputs; ++a) {
    const oneop_arg& arg = frame->get().inputs[a];
    for (int32_t i = 0; i < arg.count; ++i) {
      if (needs_grad[arg.first + i] && plan.grad_of_input[arg.first + i] == -1) {
        throw Error("GradientError",
                    name + " gives none for input " + quoted(arg.name) +
                        "\n  bind one with InputGradBind, or mark the input as not differentiable: "
                        ".SetInputArgModifyFn, set_requires_grad(false)" +
                        at);
      }
    }
  }
  for (int32_t& blob : plan.grad_of_input) {
    blob = blob == kNoGradient ? -1 : blob;
  }
  prune(&plan);
  for (int32_t a = 0; a < frame->get().num_outputs; ++a) {
    const oneop_arg& arg = frame->get().outputs[a];
    for (int32_t i = arg.first - plan.num_inputs; i < arg.first - plan.num_inputs + arg.count;
         ++i) {
      if (!plan.reads_grad[i] || has_grad[i]) {
        continue;
      }
      throw Error("GradientError",
                  name + " reads the gradient of output " + quoted(arg.name) +
                      ", which has none: it is " + dtype_name(frame->output(i).dtype) +
                      " or marked as not differentiable\n  test with HasGradTensor4OpOutput first" +
                      at);
    }
  }
  return plan;
}

}  // namespace oneop
