// How an op splits over devices: signatures as text, `S(0), B -> S(0)`, and those that inference
// implies.
#ifndef ONEOP_OP_SBP_H_
#define ONEOP_OP_SBP_H_

#include "oneop/op/axes.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

class SbpParser {
 public:
  SbpParser(const OpRecord& record, const char* text) : record_(record), cursor_{text} {}

  // Null after noting a mistake.
  ONEOP_COLD SbpRule* Parse() {
    auto* rule = new SbpRule{};
    const Schema& schema = *record_.schema;
    if (!Side(schema.num_inputs, "inputs", rule->entries)) {
      return nullptr;
    }
    if (!cursor_.Take("->")) {
      return Fail("expected ->");
    }
    if (!Side(schema.num_outputs, "outputs", rule->entries + schema.num_inputs)) {
      return nullptr;
    }
    cursor_.SkipSpace();
    return cursor_.at == cursor_.text.size() ? rule : Fail("expected nothing after the outputs");
  }

 private:
  SbpRule* Fail(std::string_view problem) {
    cursor_.SkipSpace();
    record_.Mistake({"cannot read its SBP signature",
                     Pointed(cursor_.text, cursor_.text.substr(cursor_.at)), "\n  ", problem,
                     "\n  write S(axis), B or P for each input, ->, and for each output: "
                     "S(0), B -> S(0)"});
    return nullptr;
  }
  ONEOP_COLD bool Side(int wanted, std::string_view what, oneop_sbp* entries) {
    for (int i = 0; i < wanted; ++i) {
      if (i != 0 && !cursor_.Take(",")) {
        Fail(sdk::Join({"expected ", sdk::Digits(wanted), " ", what, " as in the schema"}));
        return false;
      }
      if (!Entry(&entries[i])) {
        Fail("expected S(axis), B or P");
        return false;
      }
    }
    return true;
  }
  ONEOP_COLD bool Entry(oneop_sbp* entry) {
    if (cursor_.Take("B")) {
      entry->kind = ONEOP_SBP_BROADCAST;
      return true;
    }
    if (cursor_.Take("P")) {
      entry->kind = ONEOP_SBP_PARTIAL_SUM;
      return !cursor_.Take("(") || (cursor_.Take("sum") && cursor_.Take(")"));
    }
    if (!cursor_.Take("S") || !cursor_.Take("(")) {
      return false;
    }
    const int sign = cursor_.Take("-") ? -1 : 1;
    const int axis = cursor_.Number();
    *entry = {ONEOP_SBP_SPLIT, sign * axis};
    return axis >= 0 && cursor_.Take(")");
  }

  const OpRecord& record_;
  Cursor cursor_;
};

// Sends signatures whose entries are made tensor by tensor.
class SignatureSender {
 public:
  SignatureSender(const oneop_frame* frame, oneop_sbp_sink* sink, oneop_status* status)
      : frame_(frame), sink_(sink), status_(status) {
    entries_ = static_cast<oneop_sbp*>(arena_.Allocate(sizeof(oneop_sbp) * Count()));
  }
  ~SignatureSender() { arena_.Free(); }
  SignatureSender(const SignatureSender&) = delete;
  SignatureSender& operator=(const SignatureSender&) = delete;

  int32_t Count() const { return frame_->num_input_tensors + frame_->num_output_tensors; }
  oneop_sbp& operator[](int32_t i) { return entries_[i]; }
  int32_t Send() { return sink_->add(sink_, entries_, Count(), status_); }

 private:
  const oneop_frame* frame_;
  oneop_sbp_sink* sink_;
  oneop_status* status_;
  sdk::Arena arena_;
  oneop_sbp* entries_;
};

// A written signature: each tensor of an argument gets the entry of the argument.
ONEOP_COLD inline int32_t SendWritten(const SbpRule& rule, const oneop_frame* frame,
                                      SignatureSender* signature) {
  for (int32_t i = 0; i != frame->num_inputs + frame->num_outputs; ++i) {
    const bool is_input = i < frame->num_inputs;
    const oneop_arg* arg = is_input ? sdk::ArgAt(frame, frame->inputs, i)
                                    : sdk::ArgAt(frame, frame->outputs, i - frame->num_inputs);
    for (int32_t k = 0; k != arg->count; ++k) {
      oneop_sbp entry = rule.entries[i];
      if (entry.kind == ONEOP_SBP_SPLIT && entry.axis < 0) {
        entry.axis += sdk::TensorAt(frame, arg->first + k)->ndim;
      }
      (*signature)[arg->first + k] = entry;
    }
  }
  return signature->Send();
}

// Each axis that is not mixed is split wherever it is; a result that lacks it is a sum over it.
ONEOP_COLD inline int32_t SendAlong(const AxesRule& rule, int name, int hidden_axis, int hidden,
                                    SignatureSender* signature) {
  bool is_in_input = false;
  for (int t = 0; t < rule.num_tensors; ++t) {
    const bool is_input = t < rule.num_inputs;
    oneop_sbp entry = {is_input ? ONEOP_SBP_BROADCAST : ONEOP_SBP_PARTIAL_SUM, 0};
    int at = 0;
    int times = 0;
    for (int i = 0; i < rule.tensors[t].count; ++i) {
      const bool is_ellipsis = rule.tensors[t].axes[i] == AxesRule::kEllipsis;
      if (rule.tensors[t].axes[i] == name) {
        entry = {ONEOP_SBP_SPLIT, at + (is_ellipsis ? hidden_axis : 0)};
        is_in_input = is_in_input || is_input;
        ++times;
      }
      at += is_ellipsis ? hidden : 1;
    }
    if (times > 1) {
      return ONEOP_OK;
    }
    (*signature)[t] = entry;
  }
  return is_in_input ? signature->Send() : ONEOP_OK;
}

ONEOP_COLD inline int32_t SendAxes(const AxesRule& rule, const oneop_frame* frame,
                                   SignatureSender* signature) {
  const int hidden = BoundAxes(rule, frame).hidden();
  for (int name = 0; name < rule.num_names; ++name) {
    if (rule.is_mixed[name] || rule.IsNumber(name)) {
      continue;
    }
    if (const int32_t code = SendAlong(rule, name, 0, hidden, signature)) {
      return code;
    }
  }
  for (int axis = 0; axis < hidden && !rule.ellipsis_is_mixed; ++axis) {
    if (const int32_t code = SendAlong(rule, AxesRule::kEllipsis, axis, hidden, signature)) {
      return code;
    }
  }
  return ONEOP_OK;
}

ONEOP_COLD inline int32_t GetSbp(void* self, oneop_frame* frame, oneop_sbp_sink* sink,
                                 oneop_status* status) {
  const OpRecord& record = *static_cast<OpRecord*>(self);
  try {
    SignatureSender signature(frame, sink, status);
    int32_t code = ONEOP_OK;
    for (const SbpRule* rule = record.sbp; code == ONEOP_OK && rule != nullptr; rule = rule->next) {
      code = SendWritten(*rule, frame, &signature);
    }
    if (record.axes != nullptr && code == ONEOP_OK) {
      code = SendAxes(*record.axes, frame, &signature);
    }
    // Elements by themselves: every axis can be split.
    const int32_t ndim = record.is_elementwise ? sdk::TensorAt(frame, 0)->ndim : 0;
    for (int32_t axis = 0; code == ONEOP_OK && axis < ndim; ++axis) {
      for (int32_t i = 0; i != signature.Count(); ++i) {
        signature[i] = {ONEOP_SBP_SPLIT, axis};
      }
      code = signature.Send();
    }
    return code;
  } catch (...) {
    return sdk::ReportCurrentException(frame, status, {record.place.file, record.place.line});
  }
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_SBP_H_
