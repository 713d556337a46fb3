// grad_steps.cpp: see grad_steps.h.
#include "c_host/grad_steps.h"

#include "c_host/named_call.h"
#include "engine/registry/registry.h"

namespace oneop {

GradSteps::GradSteps(GradPlan plan) : plan_(std::move(plan)) {
  for (const GradStep& step : plan_.steps) {
    add(step);
  }
}

void GradSteps::add(const GradStep& step) {
  storage_.emplace_back();
  Storage* kept = &storage_.back();
  for (const auto& blobs : step.inputs) {
    kept->inputs.insert(kept->inputs.end(), blobs.begin(), blobs.end());
    kept->input_counts.push_back(static_cast<int32_t>(blobs.size()));
  }
  oneop_step view{};
  view.size = sizeof view;
  view.num_inputs = static_cast<int32_t>(kept->inputs.size());
  view.num_outputs = step.num_outputs;
  view.first_output = step.first_output;
  view.inputs = kept->inputs.data();
  if (step.call == nullptr) {
    fill_op(step, kept, &view);
  } else {
    const auto& call = static_cast<const NamedCall&>(*step.call);
    kept->args = call.arguments().with_blobs(kept->inputs, &kept->lists);
    view.name = call.name().c_str();
    view.num_args = static_cast<int32_t>(kept->args.size());
    view.args = kept->args.data();
  }
  steps_.push_back(view);
}

void GradSteps::fill_op(const GradStep& step, Storage* kept, oneop_step* view) {
  const RecordPtr record = Registry::global().get(step.op);
  kept->keeps = record;
  kept->spans.resize(step.attrs.size());
  for (size_t i = 0; i < step.attrs.size() && i < record->op->attrs.size(); ++i) {
    kept->attrs.push_back(step.attrs[i].view(record->op->attrs[i].name.c_str(), &kept->spans[i]));
  }
  view->name = step.op.c_str();
  view->op = reinterpret_cast<const oneop_op*>(Registry::global().find_slot(step.op));
  view->input_counts = kept->input_counts.data();
  view->output_counts = step.output_counts.data();
  view->attrs = kept->attrs.data();
  view->num_attrs = static_cast<int32_t>(kept->attrs.size());
}

}  // namespace oneop
