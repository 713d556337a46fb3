// The words of a gradient's text, and what they name.
#ifndef ONEOP_OP_GRADIENT_NAMES_H_
#define ONEOP_OP_GRADIENT_NAMES_H_

#include "oneop/op/gradient.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

ONEOP_COLD inline const oneop_op_def* FindOp(std::string_view name) {
  for (int32_t i = 0; i != sdk::library.ops.count; ++i) {
    const auto* op = static_cast<const oneop_op_def*>(sdk::library.ops.data[i]);
    if (op->name == name) {
      return op;
    }
  }
  return nullptr;
}

class GradientNames {
 public:
  explicit GradientNames(OpRecord* record)
      : record_(record), schema_(*record->schema), cursor_{record->gradient_text} {}

 protected:
  // --- Words ---
  ONEOP_COLD bool Fail(std::string_view culprit, std::initializer_list<std::string_view> problem) {
    record_->Mistake(
        {"cannot read its gradient", Pointed(cursor_.text, culprit), "\n  ", sdk::Join(problem)});
    return false;
  }
  std::string_view Here() {
    SkipBlanks();
    return cursor_.text.substr(cursor_.at);
  }
  // A line ends a statement, except inside of brackets, where Cursor skips it.
  void SkipBlanks() {
    while (cursor_.Next() == ' ' || cursor_.Next() == '\t') {
      ++cursor_.at;
    }
  }
  void SkipSeparators() {
    while (Cursor::IsSpace(cursor_.Next()) || cursor_.Next() == ';') {
      ++cursor_.at;
    }
  }
  bool AtEnd() {
    SkipBlanks();
    return cursor_.at == cursor_.text.size() || cursor_.Next() == ';' || cursor_.Next() == '\n';
  }

  // --- Names ---
  struct Target {
    std::string_view name;
    int input = -1;  // whose gradient it is
  };
  struct Local {
    std::string_view name;
    GradValue value;
  };
  int InputOf(std::string_view name) const {
    for (int i = 0; i < schema_.num_inputs; ++i) {
      if (name.size() > 1 && name[0] == 'd' && schema_.inputs[i].name == name.substr(1)) {
        return i;
      }
    }
    return -1;
  }
  ONEOP_COLD GradValue Find(std::string_view name) const {
    for (int i = 0; i < schema_.num_inputs; ++i) {
      if (schema_.inputs[i].name == name) {
        return {GradValue::kInput, i, 0};
      }
    }
    for (int i = 0; i < schema_.num_outputs; ++i) {
      if (schema_.outputs[i].name == name) {
        return {GradValue::kOutput, i, 0};
      }
      if (name.size() > 1 && name[0] == 'd' && schema_.outputs[i].name == name.substr(1)) {
        return {GradValue::kOutputGrad, i, 0};
      }
    }
    for (int i = 0; i < num_locals_; ++i) {
      if (locals_[i].name == name) {
        return locals_[i].value;
      }
    }
    return {};
  }
  ONEOP_COLD std::string ValueHint(std::string_view name) const {
    Names names(name);
    for (int i = 0; i < schema_.num_inputs; ++i) {
      names.Add(schema_.inputs[i].name);
    }
    for (int i = 0; i < schema_.num_outputs; ++i) {
      names.Add(schema_.outputs[i].name);
      names.Add(sdk::Join({"d", schema_.outputs[i].name}));
    }
    for (int i = 0; i < num_locals_; ++i) {
      names.Add(locals_[i].name);
    }
    return names.Hint();
  }
  int ForwardAttr(std::string_view name) const {
    for (int i = 0; i < schema_.num_attrs; ++i) {
      if (schema_.attrs[i].name == name) {
        return i;
      }
    }
    return -1;
  }
  bool IsList(const GradValue& value) const {
    const auto is_list = [](const TensorArg& a) { return a.count != 1 || a.count_is_minimum; };
    return value.kind == GradValue::kInput ? is_list(schema_.inputs[value.index])
           : value.kind == GradValue::kStep || value.kind == GradValue::kNone
               ? false
               : is_list(schema_.outputs[value.index]);
  }

  OpRecord* record_;
  const Schema& schema_;
  Cursor cursor_;
  Local locals_[kMostSteps];
  int num_locals_ = 0;
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_GRADIENT_NAMES_H_
