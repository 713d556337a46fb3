// Reading a schema.
#ifndef ONEOP_OP_PARSE_SCHEMA_H_
#define ONEOP_OP_PARSE_SCHEMA_H_

#include "oneop/op/schema.h"
#include "oneop/op/text/other_forms.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

class SchemaParser {
 public:
  constexpr explicit SchemaParser(std::string_view text) : cursor_{text} { schema_.text = text; }

  constexpr Schema Parse() {
    schema_.name = cursor_.Word();
    if (!schema_.name.empty() && cursor_.Take("::")) {
      return Fail("all ops are in the namespace oneop; write the name alone", Here());
    }
    if (!schema_.name.empty() && cursor_.Take(".")) {
      return Fail("an op has no overloads; give it a name of its own, with _ for the point",
                  Here());
    }
    if (schema_.name.empty() || !cursor_.Take("(")) {
      return Fail("expected name(inputs, *, attributes) -> outputs", Here());
    }
    if (!Arguments()) {
      return schema_;
    }
    if (!cursor_.Take("->")) {
      return Fail("expected -> and the outputs, as in -> Tensor y, or -> () for none", Here());
    }
    if (!Outputs()) {
      return schema_;
    }
    cursor_.SkipSpace();
    if (cursor_.at != cursor_.text.size()) {
      return Fail("expected nothing after the outputs; several outputs stand in brackets", Here());
    }
    CheckNames();
    CheckDevice();
    return schema_;
  }

 private:
  constexpr Schema Fail(const char* problem, std::string_view culprit) {
    if (schema_.problem == nullptr) {
      schema_.problem = problem;
      schema_.culprit = culprit;
    }
    return schema_;
  }
  constexpr bool Refuse(const char* problem, std::string_view culprit) {
    Fail(problem, culprit);
    return false;
  }
  constexpr std::string_view Here() {
    cursor_.SkipSpace();
    Cursor ahead = cursor_;
    const std::string_view rest = ahead.Rest();
    return rest.empty() ? cursor_.text.substr(cursor_.at, 1) : rest;
  }

  // Whether a comma or a bracket stands where an argument is expected.
  constexpr bool IsNothing() {
    cursor_.SkipSpace();
    return cursor_.Next() == ',' || cursor_.Next() == ')';
  }

  constexpr bool Arguments() {
    bool after_star = false;
    if (cursor_.Take(")")) {
      return true;
    }
    do {
      if (IsNothing()) {
        return Refuse(kEmptyArgument, Here());
      }
      if (Here() == "*") {
        if (after_star) {
          return Refuse("there are two stars; one says that what follows is given by name", Here());
        }
        cursor_.Take("*");
        after_star = true;
        continue;
      }
      if (!Argument(after_star)) {
        return false;
      }
    } while (cursor_.Take(","));
    return cursor_.Take(")") ||
           Refuse("expected a comma, or the bracket that ends the arguments", Here());
  }
  constexpr bool Argument(bool after_star) {
    const std::string_view part = Here();
    if (part.substr(0, 6) == "Tensor") {
      if (schema_.num_attrs != 0 && (!after_star || schema_.attrs[0].is_positional)) {
        return Refuse("inputs come first, or after a star that stands before all attributes", part);
      }
      if (schema_.num_inputs == kMostArguments) {
        return Refuse("a schema has at most 16 inputs; use a list, Tensor[]", part);
      }
      const int number = schema_.num_inputs;
      return Tensor(&schema_.inputs[schema_.num_inputs++],
                    number < kNumNames ? kInputNames[number] : std::string_view());
    }
    if (part.substr(0, 6) == "Device") {
      schema_.has_device = true;
      schema_.culprit = part;
      const bool is_right = cursor_.Take("Device?") && cursor_.Word() == "device" &&
                            cursor_.Take("=") && cursor_.Take("None");
      return is_right || Refuse("a device is written Device? device=None", part);
    }
    if (schema_.num_attrs == kMostArguments) {
      return Refuse("a schema has at most 16 attributes", part);
    }
    schema_.attrs[schema_.num_attrs].is_positional = !after_star;
    return Attribute(&schema_.attrs[schema_.num_attrs++], part) && HasPlace(part);
  }
  // An argument by position that must be given cannot come after one that need not be.
  constexpr bool HasPlace(std::string_view part) {
    const int at = schema_.num_attrs - 1;
    const AttrArg& attr = schema_.attrs[at];
    const bool may_be_left_out = at > 0 ? schema_.attrs[at - 1].has_default
                                        : schema_.num_inputs > 0 &&
                                              schema_.inputs[schema_.num_inputs - 1].is_optional &&
                                              !schema_.inputs[schema_.num_inputs - 1].has_gaps;
    return !attr.is_positional || attr.has_default || !may_be_left_out ||
           Refuse("it has no default and comes after an argument that has one; put a * before it",
                  part);
  }

  constexpr bool Tensor(TensorArg* arg, std::string_view usual_name) {
    const std::string_view part = Here();
    const char* forms = "expected Tensor x, Tensor? x, Tensor[] x, Tensor[2] x or Tensor(a!) x";
    if (cursor_.Word() != "Tensor") {
      return Refuse(forms, part);
    }
    if (cursor_.Next() == '(') {
      cursor_.Take("(");
      arg->alias = cursor_.Word();
      if (arg->alias.empty()) {
        return Refuse(forms, part);
      }
      if (!cursor_.Take("!")) {
        return Refuse(kViewArgument, part);
      }
      arg->is_mutable = true;
      if (!cursor_.Take(")")) {
        return Refuse(forms, part);
      }
    }
    const bool has_mark = cursor_.Next() == '?';
    cursor_.Take(has_mark ? "?" : "");
    if (cursor_.Next() == '[') {
      cursor_.Take("[");
      const int count = cursor_.Number();
      if (has_mark && (count >= 0 || arg->is_mutable)) {
        return Refuse("a list of which items may be None is Tensor?[]", part);
      }
      arg->has_gaps = has_mark;
      arg->count = count < 0 ? 1 : count;
      arg->count_is_minimum = cursor_.Take("+") || count < 0;
      if (count > kMostTensors || !cursor_.Take("]") || cursor_.Next() == '[') {
        return Refuse(
            count > kMostTensors ? "at most 65536 tensors are possible" : InsteadOf(part, forms),
            part);
      }
    }
    arg->is_optional = has_mark || cursor_.Next() == '?';
    cursor_.Take(cursor_.Next() == '?' && !has_mark ? "?" : "");
    arg->name = cursor_.Word();
    if (cursor_.Take("=")) {
      arg->is_optional = true;
      if (!cursor_.Take("None") && !cursor_.Take("[]")) {
        return Refuse("an input may have the default None and no other", part);
      }
    }
    arg->name = arg->name.empty() ? usual_name : arg->name;
    return !arg->name.empty() || Refuse("expected a name for it", part);
  }

  static constexpr const char* kAttributeForm =
      "expected a type and a name, such as float alpha=0.01";
  constexpr bool Attribute(AttrArg* attr, std::string_view part) {
    const size_t begin = cursor_.at;
    if (cursor_.Word().empty()) {
      return Refuse(InsteadOf(part, kAttributeForm), part);
    }
    const std::string_view item = cursor_.text.substr(begin, cursor_.at - begin);
    if (cursor_.Next() == '[') {
      cursor_.Take("[");
      const int size = cursor_.Number();
      if (!cursor_.Take("]")) {
        return Refuse(InsteadOf(part, kAttributeForm), part);
      }
      if (size == 0 || size > kMostTensors) {
        return Refuse("a list of a fixed length has 1 to 65536 items", part);
      }
      attr->list_size = size < 0 ? 0 : size;
    }
    const std::string_view word = cursor_.text.substr(begin, cursor_.at - begin);
    attr->is_optional = cursor_.Next() == '?';
    cursor_.Take(attr->is_optional ? "?" : "");
    for (const AttrTypeName& known : kAttrTypes) {
      const bool is_fixed = attr->list_size > 0 && known.name.size() == item.size() + 2 &&
                            known.name.substr(0, item.size()) == item &&
                            known.name.substr(item.size()) == "[]";
      attr->type = known.name == word || is_fixed ? known.type : attr->type;
    }
    if (attr->type == 0) {
      return Refuse(WhyNoType(word, item), word);
    }
    attr->name = cursor_.Word();
    if (attr->name.empty()) {
      return Refuse(InsteadOf(part, kAttributeForm), part);
    }
    if (cursor_.Take("=")) {
      attr->has_default = true;
      attr->default_text = cursor_.Rest();
      if (EndsInText(attr->default_text)) {
        return Refuse("the text of a str does not end; expected another quotation mark",
                      attr->default_text);
      }
      if (attr->default_text == "None" && !attr->is_optional) {
        return Refuse("only an optional attribute may be None; write a ? after its type", part);
      }
    }
    return true;
  }

  static constexpr const char* WhyNoType(std::string_view word, std::string_view item) {
    const char* problem = nullptr;
    for (const Instead& other : kInstead) {
      problem = other.type == word || (other.type == item && problem == nullptr) ? other.problem
                                                                                 : problem;
    }
    return problem == nullptr ? "there is no such type of attributes" : problem;
  }
  static constexpr bool IsOtherType(std::string_view word) {
    bool is_known = false;
    for (const AttrTypeName& known : kAttrTypes) {
      is_known = is_known || known.name == word;
    }
    for (const Instead& other : kInstead) {
      is_known = is_known || other.type == word;
    }
    return is_known;
  }

  constexpr bool Outputs() {
    cursor_.SkipSpace();
    const bool in_brackets = cursor_.Take("(");
    if (in_brackets && cursor_.Take(")")) {
      return true;
    }
    do {
      if (schema_.num_outputs == kMostArguments) {
        return Refuse("a schema has at most 16 outputs; use a list, Tensor[]", Here());
      }
      const int number = schema_.num_outputs;
      const std::string_view part = Here();
      TensorArg* arg = &schema_.outputs[schema_.num_outputs++];
      if (IsNothing()) {
        return Refuse(kEmptyArgument, part);
      }
      if (const char* instead = InsteadOfOutput(part)) {
        return Refuse(instead, part);
      }
      Cursor ahead = cursor_;
      const std::string_view type = ahead.Word();
      if (type == "Device" || IsOtherType(type)) {
        return Refuse("an op returns tensors; write -> Tensor, and return one of one element",
                      part);
      }
      if (!Tensor(arg, number < kNumNames ? kOutputNames[number] : std::string_view())) {
        return false;
      }
      if (arg->has_gaps) {
        return Refuse("a list of results has no items that are None", part);
      }
      if (arg->is_mutable) {
        return Refuse("an op that changes an input in place returns nothing for it; write -> ()",
                      part);
      }
    } while (in_brackets && cursor_.Take(","));
    if (in_brackets && !cursor_.Take(")")) {
      return Refuse("expected a comma, or the bracket that ends the outputs", Here());
    }
    if (schema_.num_outputs == 1 && schema_.outputs[0].name == "out0") {
      schema_.outputs[0].name = "out";
    }
    return true;
  }

  constexpr std::string_view NameOf(int i) const {
    const int attr = i - schema_.num_inputs - schema_.num_outputs;
    return i < schema_.num_inputs ? schema_.inputs[i].name
           : attr < 0             ? schema_.outputs[i - schema_.num_inputs].name
                                  : schema_.attrs[attr].name;
  }
  constexpr void CheckNames() {
    const int count = schema_.num_inputs + schema_.num_outputs + schema_.num_attrs;
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < i; ++k) {
        if (NameOf(i) == NameOf(k)) {
          Fail("two arguments have the same name", NameOf(i));
        }
      }
    }
    for (int i = 0; i < schema_.num_inputs; ++i) {
      for (int k = 0; k < i; ++k) {
        if (schema_.inputs[i].is_mutable && schema_.inputs[k].is_mutable &&
            schema_.inputs[i].alias == schema_.inputs[k].alias) {
          Fail("two inputs have one alias, as if they were one tensor; write Tensor(b!) for one",
               schema_.inputs[i].alias);
        }
      }
    }
  }

  // Every op that may be called without tensors has it.
  constexpr void CheckDevice() {
    for (int i = 0; schema_.has_device && i < schema_.num_inputs; ++i) {
      if (!schema_.inputs[i].is_optional) {
        Fail("the inputs say where it runs; a device is for ops without inputs", schema_.culprit);
      }
    }
  }

  Cursor cursor_;
  Schema schema_;
};

constexpr Schema ParseSchema(std::string_view text) { return SchemaParser(text).Parse(); }

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_PARSE_SCHEMA_H_
