// grad_collector.cpp: checking each step, and putting it into the plan.
#include "engine/plans/grad_collector.h"

#include "engine/frames/arg_counts.h"
#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"
#include "engine/registry/registry.h"

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

[[noreturn]] void refuse(const std::string& text) { throw Error("GradientError", text); }

}  // namespace

template <typename Act>
int32_t GradCollector::guard(oneop_grad_sink* sink, oneop_status* status, const Act& act) {
  try {
    act(reinterpret_cast<Sink*>(sink)->self);
    return ONEOP_OK;
  } catch (const std::exception& error) {
    return Status::fail(status, ONEOP_ERROR_VALUE, error.what());
  }
}

GradCollector::GradCollector(const std::string& package, Frame* frame, GradPlan* plan)
    : package_(package), frame_(frame), plan_(plan), blobs_(frame, plan) {
  sink_.self = this;
  sink_.abi.size = sizeof(oneop_grad_sink);
  sink_.abi.add_op = [](oneop_grad_sink* sink, const oneop_grad_op* op, oneop_status* status) {
    return guard(sink, status, [&](GradCollector* self) { self->add_op(*op); });
  };
  sink_.abi.bind = [](oneop_grad_sink* sink, int32_t input, int32_t blob, oneop_status* status) {
    return guard(sink, status, [&](GradCollector* self) { self->bind(input, blob); });
  };
  sink_.abi.add_call = [](oneop_grad_sink* sink, const char* name, const oneop_value* args,
                          int32_t num_args, int32_t* num_outputs, oneop_status* status) {
    return guard(sink, status,
                 [&](GradCollector* self) { *num_outputs = self->add_call(name, args, num_args); });
  };
  sink_.abi.describe = [](oneop_grad_sink* sink, int32_t blob, oneop_status* status) {
    const oneop_tensor* found = nullptr;
    guard(sink, status,
          [&](GradCollector* self) { found = &self->blobs_.describe(self->ours(blob)); });
    return found;
  };
}

bool GradCollector::is_made(int32_t blob) const {
  const int32_t first = plan_->first_grad_blob() + plan_->num_outputs;
  return blob >= 0 && blob < first + static_cast<int32_t>(renamed_.size());
}

void GradCollector::add_op(const oneop_grad_op& abi) {
  const std::string what = "a backward op, ";
  checked_count(abi.num_inputs, abi.inputs, what + "num_inputs");
  checked_count(abi.num_outputs, abi.outputs, what + "num_outputs");
  checked_count(abi.num_attrs, abi.attrs, what + "num_attrs");
  Registry& registry = Registry::global();
  const RecordPtr record = registry.get(registry.resolve(abi.op_type_name, package_));
  const OpDef& op = *record->op;
  const std::string where = "backward op " + in_quotes(op.name);
  GradStep step;
  step.op = op.name;
  step.inputs.resize(op.inputs.size());
  for (int32_t i = 0; i < abi.num_inputs; ++i) {
    const int32_t arg = index_of(op.inputs, abi.inputs[i].arg);
    if (arg < 0) {
      refuse(where + " has no input " + in_quotes(abi.inputs[i].arg) +
             did_you_mean(abi.inputs[i].arg, op.input_names()));
    }
    if (!is_made(abi.inputs[i].blob)) {
      refuse(where + ", input " + in_quotes(abi.inputs[i].arg) + ": there is no such blob");
    }
    step.inputs[arg].push_back(ours(abi.inputs[i].blob));
  }
  step.output_counts.assign(op.outputs.size(), 0);
  for (int32_t i = 0; i < abi.num_outputs; ++i) {
    const int32_t arg = index_of(op.outputs, abi.outputs[i].arg);
    if (arg < 0) {
      refuse(where + " has no output " + in_quotes(abi.outputs[i].arg) +
             did_you_mean(abi.outputs[i].arg, op.output_names()));
    }
    step.output_counts[arg] = checked_count(abi.outputs[i].count, &abi, what + "output count");
  }
  // The library numbers blobs in the order in which it names the outputs, torch returns them in
  // that of the op.
  order_outputs(op, abi, &step);
  step.first_output = plan_->num_blobs;
  for (int32_t count : step.output_counts) {
    step.num_outputs += count;
  }
  plan_->num_blobs += step.num_outputs;
  add_attrs(op, abi, &step);
  std::vector<int32_t> input_counts;
  for (const auto& blobs : step.inputs) {
    input_counts.push_back(static_cast<int32_t>(blobs.size()));
  }
  check_counts(op, input_counts, step.output_counts);
  plan_->steps.push_back(std::move(step));
}

void GradCollector::add_attrs(const OpDef& op, const oneop_grad_op& abi, GradStep* step) const {
  const std::string where = "backward op " + in_quotes(op.name);
  for (const AttrDef& attr : op.attrs) {
    const oneop_attr* given = nullptr;
    for (int32_t i = 0; i < abi.num_attrs; ++i) {
      if (attr.name == abi.attrs[i].name) {
        given = &abi.attrs[i];
      }
    }
    if (given != nullptr && !attr.takes_type(given->type)) {
      refuse(where + ", attribute " + in_quotes(attr.name) + ": expected " +
             attr_type_name(attr.type) + ", found " + attr_type_name(given->type));
    }
    if (given == nullptr && !attr.has_default) {
      refuse(where + " needs the attribute " + in_quotes(attr.name));
    }
    step->attrs.push_back(given != nullptr ? AttrValue::copy_of(*given) : attr.default_value);
    if (!attr.takes_length(step->attrs.back())) {
      refuse(where + ", attribute " + in_quotes(attr.name) + ": expected " + attr.type_text() +
             ", found one of length " + std::to_string(step->attrs.back().list_length()));
    }
  }
  for (int32_t i = 0; i < abi.num_attrs; ++i) {
    if (index_of(op.attrs, abi.attrs[i].name) < 0) {
      refuse(where + " has no attribute " + in_quotes(abi.attrs[i].name) +
             did_you_mean(abi.attrs[i].name, op.attr_names()));
    }
  }
}

void GradCollector::order_outputs(const OpDef& op, const oneop_grad_op& abi, GradStep* step) {
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

int32_t GradCollector::add_call(const char* name, const oneop_value* args, int32_t num_args) {
  std::shared_ptr<const FrameworkCall> call = host().record_call(name, args, num_args);
  GradStep step;
  step.inputs.resize(1);
  for (int32_t blob : call->blobs()) {
    if (!is_made(blob)) {
      refuse(in_quotes(name) + ": there is no such blob");
    }
    step.inputs[0].push_back(ours(blob));
  }
  step.num_outputs = call->num_outputs();
  if (step.num_outputs < 0) {
    frame_->reads().shapes = 1;
    step.num_outputs = static_cast<int32_t>(blobs_.infer(*call, step.inputs[0]).size());
  }
  step.first_output = plan_->num_blobs;
  for (int32_t i = 0; i < step.num_outputs; ++i) {
    renamed_.push_back(plan_->num_blobs++);
  }
  const int32_t num_outputs = step.num_outputs;
  step.call = std::move(call);
  plan_->steps.push_back(std::move(step));
  return num_outputs;
}

void GradCollector::bind(int32_t input, int32_t blob) {
  if (input < 0 || input >= plan_->num_inputs || blob < -1) {
    refuse("there is no such input or blob to bind");
  }
  plan_->grad_of_input[input] = blob < 0 ? kNoGradient : blob;
}

int32_t GradCollector::ours(int32_t blob) const {
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

}  // namespace oneop
