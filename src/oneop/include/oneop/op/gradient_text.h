// Reading a gradient, `dx = swish_grad(x, dy, beta=beta)`, and checking it against the ops of the
// library.
//
// Statements end with a semicolon or a line. On the left, dx is the gradient of input x, and any
// other name is a value for later statements. On the right stands a call, a value or None; values
// are inputs and outputs of the op, dy for the gradient of output y, and names from the left.
#ifndef ONEOP_OP_GRADIENT_TEXT_H_
#define ONEOP_OP_GRADIENT_TEXT_H_

#include "oneop/op/gradient_names.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

class GradientParser : GradientNames {
 public:
  explicit GradientParser(OpRecord* record) : GradientNames(record), rule_(new GradientRule) {}
  // Null after noting a mistake.
  ONEOP_COLD const GradientRule* Parse() {
    for (SkipSeparators(); cursor_.at != cursor_.text.size(); SkipSeparators()) {
      if (!Statement()) {
        return nullptr;
      }
    }
    for (int i = 0; i < schema_.num_inputs; ++i) {
      if (!rule_->is_assigned[i] && !schema_.inputs[i].is_mutable) {
        const std::string_view name = schema_.inputs[i].name;
        record_->Mistake({"its gradient says nothing about input \"", name, "\"", "\n  write d",
                          name, " = ..., or d", name, " = None if it has none"});
        return nullptr;
      }
    }
    return rule_;
  }

 private:
  // --- Statements ---
  ONEOP_COLD bool Statement() {
    Target targets[kMostArguments];
    int num_targets = 0;
    do {
      const std::string_view name = cursor_.Word();
      if (name.empty() || num_targets == kMostArguments) {
        return Fail(Here(), {"expected a statement such as dx = relu_grad(y, dy)"});
      }
      targets[num_targets++] = {name, InputOf(name)};
    } while (cursor_.Take(","));
    if (!cursor_.Take("=")) {
      return Fail(Here(), {"expected = and a call, as in dx = relu_grad(y, dy)"});
    }
    SkipBlanks();
    const std::string_view word = cursor_.Word();
    if (word.empty()) {
      return Fail(Here(), {"expected a call of an op, a value or None"});
    }
    if (cursor_.Next() == '(') {
      return Call(word, targets, num_targets);
    }
    GradValue value;
    if (word != "None") {
      value = Find(word);
      if (value.kind == GradValue::kNone) {
        return Fail(word, {"there is no value \"", word, "\"; ", ValueHint(word)});
      }
    }
    if (num_targets != 1 || !AtEnd()) {
      return Fail(Here(), {"expected one name on the left, and the end of the statement here"});
    }
    return Assign(targets[0], value);
  }
  ONEOP_COLD bool Assign(const Target& target, GradValue value) {
    if (target.input >= 0) {
      if (rule_->is_assigned[target.input]) {
        return Fail(target.name, {"\"", target.name, "\" is set twice"});
      }
      rule_->is_assigned[target.input] = true;
      rule_->of_input[target.input] = value;
      record_->has_no_gradient[target.input] = value.kind == GradValue::kNone;
    } else if (value.kind == GradValue::kNone) {
      Names names(target.name);
      for (int i = 0; i < schema_.num_inputs; ++i) {
        names.Add(sdk::Join({"d", schema_.inputs[i].name}));
      }
      return Fail(target.name,
                  {"\"", target.name, "\" is the gradient of no input; ", names.Hint()});
    }
    if (Find(target.name).kind == GradValue::kNone && num_locals_ != kMostSteps) {
      locals_[num_locals_++] = {target.name, value};
    }
    return true;
  }

  // --- Calls ---
  ONEOP_COLD bool Call(std::string_view op, const Target* targets, int num_targets) {
    if (rule_->num_steps == kMostSteps) {
      return Fail(op, {"a gradient has at most 32 calls"});
    }
    const oneop_op_def* callee = FindOp(op);
    auto* step = new GradStep;
    step->op = sdk::library.arena.CopyText(op);
    step->name = sdk::library.arena.Join({"gradient_", sdk::Digits(rule_->num_steps)});
    cursor_.Take("(");
    for (int position = 0; !cursor_.Take(")"); ++position) {
      if (position != 0 && !cursor_.Take(",")) {
        return Fail(Here(), {"expected a comma, or the bracket that ends the arguments"});
      }
      if (!Argument(op, callee, position, step)) {
        return false;
      }
    }
    return (callee == nullptr || CheckComplete(op, *callee, *step)) &&
           Results(op, callee, step, targets, num_targets);
  }
  bool FailForeign(std::string_view op) {
    Names names(op);
    for (int32_t i = 0; i != sdk::library.ops.count; ++i) {
      names.Add(static_cast<const oneop_op_def*>(sdk::library.ops.data[i])->name);
    }
    return Fail(op,
                {"this library has no op \"", op, "\"; ", names.Hint(),
                 "\n  for an op of another library name everything: dx = ", op, "(x=x, dy=dy).dx"});
  }
  ONEOP_COLD bool Argument(std::string_view op, const oneop_op_def* callee, int position,
                           GradStep* step) {
    cursor_.SkipSpace();
    Cursor ahead = cursor_;
    const std::string_view word = ahead.Word();
    std::string_view name;
    if (!word.empty() && ahead.Take("=")) {
      cursor_ = ahead;
      name = word;
    }
    const std::string_view text = cursor_.Rest();
    if (callee == nullptr) {
      return name.empty() ? FailForeign(op) : ForeignArgument(name, text, step);
    }
    const int input = name.empty() ? position : IndexOf(callee->inputs, callee->num_inputs, name);
    if (name.empty() && input >= callee->num_inputs) {
      return Fail(text, {"op \"", op, "\" has ", sdk::Digits(callee->num_inputs),
                         " inputs; attributes are given by name, as in alpha=alpha"});
    }
    if (input >= 0) {
      return TensorArgument(*callee, input, text, step);
    }
    const int attr = IndexOf(callee->attrs, callee->num_attrs, name);
    if (attr < 0) {
      Names names(name);
      for (int i = 0; i != callee->num_inputs; ++i) {
        names.Add(callee->inputs[i]->name);
      }
      for (int i = 0; i != callee->num_attrs; ++i) {
        names.Add(callee->attrs[i]->name);
      }
      return Fail(name, {"op \"", op, "\" has no argument \"", name, "\"; ", names.Hint()});
    }
    return AttrArgument(*callee->attrs[attr], text, step);
  }
  template <class Def>
  static int IndexOf(const Def* const* defs, int32_t count, std::string_view name) {
    for (int32_t i = 0; i != count; ++i) {
      if (defs[i]->name == name) {
        return i;
      }
    }
    return -1;
  }
  ONEOP_COLD bool TensorArgument(const oneop_op_def& callee, int input, std::string_view text,
                                 GradStep* step) {
    const oneop_arg_def& arg = *callee.inputs[input];
    const GradValue value = Find(text);
    if (text == "None" && arg.is_optional != 0) {
      return true;
    }
    if (value.kind == GradValue::kNone) {
      return Fail(text, {"there is no value \"", text, "\" for input \"", arg.name, "\" of op \"",
                         callee.name, "\"; ", ValueHint(text)});
    }
    if (IsList(value) && arg.count == 1 && arg.count_is_minimum == 0) {
      return Fail(text, {"\"", text, "\" is a list of tensors, input \"", arg.name, "\" of op \"",
                         callee.name, "\" is one tensor"});
    }
    for (int i = 0; i < step->num_inputs; ++i) {
      if (std::strcmp(step->inputs[i].arg, arg.name) == 0) {
        return Fail(text, {"input \"", arg.name, "\" of op \"", callee.name, "\" is given twice"});
      }
    }
    step->inputs[step->num_inputs++] = {arg.name, value, arg.is_optional != 0};
    return true;
  }
  // Whether a value of one type can be given as the other: no fraction is ever cut off.
  static bool Converts(int32_t from, int32_t to) {
    const auto is_real = [](int32_t type) {
      return type == ONEOP_ATTR_FLOAT || type == ONEOP_ATTR_DOUBLE;
    };
    const bool is_integer = from >= ONEOP_ATTR_INT32 && from <= ONEOP_ATTR_BOOL;
    return from == to || (is_real(from) && is_real(to)) ||
           (to == ONEOP_ATTR_SCALAR && (is_integer || is_real(from))) ||
           (is_integer && to >= ONEOP_ATTR_INT32 && to <= ONEOP_ATTR_DOUBLE);
  }
  ONEOP_COLD bool AttrArgument(const oneop_attr_def& attr, std::string_view text, GradStep* step) {
    GradStep::Attr value{attr.name, ForwardAttr(text), {}, attr.type};
    const bool takes_none = (attr.flags & ONEOP_ATTRDEF_OPTIONAL) != 0;
    if (value.forward >= 0) {
      if (schema_.attrs[value.forward].is_optional && !takes_none) {
        return Fail(text, {"attribute \"", text, "\" may be None, \"", attr.name,
                           "\" of the called op may not"});
      }
      if (!Converts(schema_.attrs[value.forward].type, attr.type)) {
        return Fail(text, {"attribute \"", text, "\" has another type than \"", attr.name,
                           "\" of the called op"});
      }
    } else if (takes_none && text == "None") {
      value.literal.type = ONEOP_ATTR_NONE;
    } else if (DefaultReader reader(text, attr.list_size);
               !reader.Read(attr.type, &value.literal)) {
      if (reader.is_too_large()) {
        return Fail(text, {text, reader.problem(), AttrTypeText(attr.type), ", that of \"",
                           attr.name, "\" of the called op"});
      }
      if (EndsInText(text)) {
        return Fail(text, {"the text of a str does not end; expected another ", text.substr(0, 1)});
      }
      Names names(text);
      for (int i = 0; i < schema_.num_attrs; ++i) {
        names.Add(schema_.attrs[i].name);
      }
      return Fail(text, {"\"", text, "\" is no attribute of the op, and no literal for \"",
                         attr.name, "\"; ", names.Hint()});
    }
    step->attrs[step->num_attrs++] = value;
    return true;
  }
  ONEOP_COLD bool ForeignArgument(std::string_view name, std::string_view text, GradStep* step) {
    const GradValue value = Find(text);
    const int attr = ForwardAttr(text);
    const char* arg = sdk::library.arena.CopyText(name);
    if (value.kind != GradValue::kNone && step->num_inputs != kMostArguments) {
      step->inputs[step->num_inputs++] = {arg, value, false};
    } else if (attr >= 0 && step->num_attrs != kMostArguments) {
      step->attrs[step->num_attrs++] = {arg, attr, {}, 0};
    } else {
      return Fail(text, {"there is no value and no attribute \"", text, "\"; ", ValueHint(text)});
    }
    return true;
  }
  ONEOP_COLD bool CheckComplete(std::string_view op, const oneop_op_def& callee,
                                const GradStep& step) {
    for (int i = 0; i != callee.num_inputs; ++i) {
      bool is_there = callee.inputs[i]->is_optional != 0;
      for (int k = 0; k < step.num_inputs; ++k) {
        is_there = is_there || std::strcmp(step.inputs[k].arg, callee.inputs[i]->name) == 0;
      }
      if (!is_there) {
        return Fail(op, {"op \"", op, "\" needs its input \"", callee.inputs[i]->name, "\""});
      }
    }
    for (int i = 0; i != callee.num_attrs; ++i) {
      const std::string_view name = callee.attrs[i]->name;
      bool is_there = callee.attrs[i]->has_default != 0;
      for (int k = 0; k < step.num_attrs; ++k) {
        is_there = is_there || step.attrs[k].name == name;
      }
      if (!is_there) {
        return Fail(op,
                    {"op \"", op, "\" needs its attribute \"", name, "\": write ", name, "=..."});
      }
    }
    return true;
  }
  // `.out` chooses an output by its name; otherwise all outputs have names on the left.
  ONEOP_COLD bool Results(std::string_view op, const oneop_op_def* callee, GradStep* step,
                          const Target* targets, int num_targets) {
    SkipBlanks();
    int chosen = -1;
    if (cursor_.Next() == '.') {
      ++cursor_.at;
      const std::string_view name = cursor_.Word();
      chosen = callee == nullptr ? 0 : IndexOf(callee->outputs, callee->num_outputs, name);
      if (callee == nullptr) {
        step->outputs[step->num_outputs++] = {sdk::library.arena.CopyText(name), 1, -1};
      }
      if (chosen < 0) {
        return Fail(name, {"op \"", op, "\" has no output \"", name, "\""});
      }
    } else if (callee == nullptr) {
      return FailForeign(op);
    }
    for (int i = 0; callee != nullptr && i != callee->num_outputs; ++i) {
      step->outputs[step->num_outputs++] = {callee->outputs[i]->name, callee->outputs[i]->count,
                                            -1};
    }
    const int wanted = chosen >= 0 ? 1 : step->num_outputs;
    if (num_targets != wanted || !AtEnd()) {
      return Fail(
          AtEnd() ? op : Here(),
          {"expected ", sdk::Digits(wanted), wanted == 1 ? " name" : " names",
           " on the left, as op \"", op, "\" has outputs, and the end of the statement here"});
    }
    rule_->steps[rule_->num_steps] = step;
    for (int i = 0; i < num_targets; ++i) {
      const int output = chosen >= 0 ? chosen : i;
      if (callee != nullptr && callee->outputs[output]->count_is_minimum != 0) {
        step->outputs[output].counts_as = targets[i].input;
      }
      if (!Assign(targets[i], {GradValue::kStep, rule_->num_steps, output})) {
        return false;
      }
    }
    ++rule_->num_steps;
    return true;
  }

  GradientRule* rule_;
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_GRADIENT_TEXT_H_
