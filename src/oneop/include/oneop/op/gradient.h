// A gradient that was read from text, and what it becomes for a call: backward ops and bindings.
#ifndef ONEOP_OP_GRADIENT_H_
#define ONEOP_OP_GRADIENT_H_

#include "oneop/op/record.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

constexpr int kMostSteps = 32;

// What a name in the text stands for. `index` is the number of an argument of the forward op, or of
// a step and then `output` that of its output.
struct GradValue {
  enum Kind { kNone, kInput, kOutput, kOutputGrad, kStep };
  Kind kind = kNone;
  int index = 0;
  int output = 0;
};

// A call of a backward op.
struct GradStep {
  struct Input {
    const char* arg;
    GradValue value;
    bool is_optional;
  };
  struct Attr {
    const char* name;
    int forward;  // the number of an attribute of the forward op, or -1: the literal
    oneop_attr literal;
    int32_t type;  // that the backward op wants; 0: not known
  };
  struct Output {
    const char* arg;
    int count;      // of tensors
    int counts_as;  // a list has as many tensors as this input of the forward op; -1: `count`
  };
  const char* op;
  const char* name;
  Input inputs[kMostArguments];
  Attr attrs[kMostArguments];
  Output outputs[kMostArguments];
  int num_inputs = 0, num_attrs = 0, num_outputs = 0;
};

struct GradientRule {
  GradStep* steps[kMostSteps];
  int num_steps = 0;
  GradValue of_input[kMostArguments];
  bool is_assigned[kMostArguments] = {};
};

// The gradient of one call while it is sent to the host.
class GradientSender {
 public:
  GradientSender(const GradientRule& rule, const oneop_frame* frame, oneop_grad_sink* sink,
                 oneop_status* status)
      : rule_(rule), frame_(frame), sink_(sink), status_(status) {}

  ONEOP_COLD int32_t Send() {
    for (int32_t i = 0; i != frame_->num_inputs; ++i) {
      if (IsWanted(i)) {
        Mark(rule_.of_input[i]);
      }
    }
    int32_t blob = frame_->num_input_tensors + 2 * frame_->num_output_tensors;
    for (int step = 0; step < rule_.num_steps; ++step) {
      if (!is_needed_[step]) {
        continue;
      }
      first_blob_[step] = blob;
      if (const int32_t code = SendStep(*rule_.steps[step])) {
        return code;
      }
      for (int o = 0; o < rule_.steps[step]->num_outputs; ++o) {
        blob += CountOf(rule_.steps[step]->outputs[o]);
      }
    }
    for (int32_t i = 0; i != frame_->num_inputs; ++i) {
      if (const int32_t code = IsWanted(i) ? BindInput(i) : ONEOP_OK) {
        return code;
      }
    }
    return ONEOP_OK;
  }

 private:
  struct Blobs {
    int32_t first;
    int32_t count;
  };
  const oneop_arg& InputArg(int32_t i) const { return *sdk::ArgAt(frame_, frame_->inputs, i); }
  bool IsWanted(int32_t input) const {
    const oneop_arg& arg = InputArg(input);
    for (int32_t k = 0; k != arg.count; ++k) {
      if (frame_->input_needs_grad == nullptr || frame_->input_needs_grad[arg.first + k] != 0) {
        return rule_.of_input[input].kind != GradValue::kNone;
      }
    }
    return false;
  }
  ONEOP_COLD void Mark(const GradValue& value) {
    if (value.kind != GradValue::kStep || is_needed_[value.index]) {
      return;
    }
    is_needed_[value.index] = true;
    const GradStep& step = *rule_.steps[value.index];
    for (int i = 0; i < step.num_inputs; ++i) {
      Mark(step.inputs[i].value);
    }
  }
  int32_t CountOf(const GradStep::Output& output) const {
    return output.counts_as < 0 ? output.count : InputArg(output.counts_as).count;
  }
  ONEOP_COLD Blobs BlobsOf(const GradValue& value) const {
    if (value.kind == GradValue::kInput) {
      return {InputArg(value.index).first, InputArg(value.index).count};
    }
    if (value.kind == GradValue::kStep) {
      int32_t first = first_blob_[value.index];
      for (int o = 0; o < value.output; ++o) {
        first += CountOf(rule_.steps[value.index]->outputs[o]);
      }
      return {first, CountOf(rule_.steps[value.index]->outputs[value.output])};
    }
    const oneop_arg& arg = *sdk::ArgAt(frame_, frame_->outputs, value.index);
    const int32_t grads = value.kind == GradValue::kOutputGrad ? frame_->num_output_tensors : 0;
    return {arg.first + grads, arg.count};
  }
  // An attribute of 32 bits of the called op may get one of 64 bits: its value must fit.
  ONEOP_COLD static void CheckFits(const oneop_attr& attr, const GradStep& step) {
    const bool fits =
        attr.type == ONEOP_ATTR_INT32 ? static_cast<int32_t>(attr.value.i) == attr.value.i
        : attr.type == ONEOP_ATTR_FLOAT
            ? __builtin_isinf(static_cast<float>(attr.value.f)) == __builtin_isinf(attr.value.f)
            : true;
    if (!fits) {
      std::string value;
      if (attr.type == ONEOP_ATTR_INT32) {
        sdk::AppendInt(&value, attr.value.i);
      } else {
        sdk::AppendDouble(&value, attr.value.f);
      }
      Refuse({"attribute \"", attr.name, "\" is ", value,
              ", which does not fit the attribute of type ", AttrTypeText(attr.type), " of op \"",
              step.op, "\" in its gradient"});
    }
  }
  ONEOP_COLD int32_t SendStep(const GradStep& step) {
    sdk::Arena arena;
    int32_t num_inputs = 0;
    for (int i = 0; i < step.num_inputs; ++i) {
      num_inputs += BlobsOf(step.inputs[i].value).count;
    }
    auto* inputs =
        static_cast<oneop_grad_input*>(arena.Allocate(sizeof(oneop_grad_input) * num_inputs));
    int32_t at = 0;
    for (int i = 0; i < step.num_inputs; ++i) {
      const Blobs blobs = BlobsOf(step.inputs[i].value);
      for (int32_t k = 0; k != blobs.count; ++k) {
        inputs[at++] = {step.inputs[i].arg, blobs.first + k, 0};
      }
    }
    oneop_grad_output outputs[kMostArguments];
    for (int o = 0; o < step.num_outputs; ++o) {
      outputs[o] = {step.outputs[o].arg, CountOf(step.outputs[o]), 0};
    }
    oneop_attr attrs[kMostArguments];
    for (int i = 0; i < step.num_attrs; ++i) {
      const GradStep::Attr& attr = step.attrs[i];
      attrs[i] = attr.literal;
      if (attr.forward >= 0) {
        attrs[i] = *sdk::Element(frame_->attrs, frame_->attr_size, attr.forward);
        if (attr.type != 0) {
          sdk::ConvertNumber(&attrs[i], static_cast<::oneflow::AttrType>(attr.type));
          CheckFits(attrs[i], step);
        }
        if (frame_->reads != nullptr) {
          frame_->reads->attrs |= uint64_t{1} << attr.forward;
        }
      }
      attrs[i].name = attr.name;
    }
    oneop_grad_op out{};
    out.size = sizeof out;
    out.num_inputs = num_inputs;
    out.num_outputs = step.num_outputs;
    out.num_attrs = step.num_attrs;
    out.op_name = step.name;
    out.op_type_name = step.op;
    out.inputs = inputs;
    out.outputs = outputs;
    out.attrs = attrs;
    const int32_t code = sink_->add_op(sink_, &out, status_);
    arena.Free();
    return code;
  }
  ONEOP_COLD int32_t BindInput(int32_t input) {
    const oneop_arg& arg = InputArg(input);
    const Blobs blobs = BlobsOf(rule_.of_input[input]);
    for (int32_t k = 0; k != arg.count; ++k) {
      const bool is_wanted =
          frame_->input_needs_grad == nullptr || frame_->input_needs_grad[arg.first + k] != 0;
      const int32_t blob = blobs.first + (k < blobs.count ? k : 0);
      if (const int32_t code =
              is_wanted ? sink_->bind(sink_, arg.first + k, blob, status_) : ONEOP_OK) {
        return code;
      }
    }
    return ONEOP_OK;
  }

  const GradientRule& rule_;
  const oneop_frame* frame_;
  oneop_grad_sink* sink_;
  oneop_status* status_;
  bool is_needed_[kMostSteps] = {};
  int32_t first_blob_[kMostSteps] = {};
};

// What oneop_grad_def::self points to.
struct GradientRecord {
  OpRecord* op;
  const GradientRule* rule = nullptr;  // since the library is loaded
  oneop_grad_def def{};
  GradientRecord* next = nullptr;
};
inline GradientRecord* first_gradient = nullptr;

ONEOP_COLD inline void NewGradient(OpRecord* op) {
  auto* record = new GradientRecord{op};
  record->def.size = sizeof record->def;
  record->def.line = op->place.line;
  record->def.file = op->place.file;
  record->def.op_type_name = op->def.name;
  record->def.self = record;
  record->def.generate = [](void* self, oneop_frame* frame, oneop_grad_sink* sink,
                            oneop_status* status) -> int32_t {
    const auto* me = static_cast<GradientRecord*>(self);
    try {
      return GradientSender(*me->rule, frame, sink, status).Send();
    } catch (...) {
      return sdk::ReportCurrentException(frame, status, {me->def.file, me->def.line});
    }
  };
  sdk::library.grads.Add(&record->def);
  record->next = first_gradient;
  first_gradient = record;
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_GRADIENT_H_
