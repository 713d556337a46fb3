// defs.cpp: names and numbers of arguments.
#include "engine/ops/defs.h"

#include <algorithm>
#include <set>

namespace oneop {
namespace {

template <typename List>
std::vector<std::string> names_of(const List& list) {
  std::vector<std::string> names;
  for (const auto& item : list) {
    names.push_back(item.name);
  }
  return names;
}

}  // namespace

std::string ArgDef::counts_text() const {
  std::string text = is_optional ? "none or " : "";
  text += count_is_minimum ? "at least " : "exactly ";
  return text + std::to_string(count) + (count == 1 ? " tensor" : " tensors");
}

std::string AttrDef::type_text() const {
  return attr_type_name(type) +
         (list_size == 0 ? std::string() : " of length " + std::to_string(list_size));
}

std::string AttrDef::default_text() const {
  if (!has_default) {
    return "";
  }
  const std::string text = default_value.repr();
  // 2 and 2.0 are different scalars.
  const bool looks_whole = type == ONEOP_ATTR_SCALAR && default_value.type == ONEOP_ATTR_DOUBLE &&
                           text.find_first_of(".en") == std::string::npos;
  return looks_whole ? text + ".0" : text;
}

int32_t OpDef::gap_attr(size_t input) const {
  if (!inputs[input].has_gaps) {
    return -1;
  }
  const std::string name = inputs[input].name + "_given";
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == name) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

std::vector<std::string> OpDef::input_names() const { return names_of(inputs); }
std::vector<std::string> OpDef::output_names() const { return names_of(outputs); }
std::vector<std::string> OpDef::attr_names() const { return names_of(attrs); }

bool OpDef::has_open_outputs() const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [](const ArgDef& arg) { return arg.is_optional || arg.count_is_minimum; });
}

std::string packaged_name(const std::string& package, const std::string& name) {
  return package + "__" + name;
}

std::string schema_name(const std::string& name) {
  static const std::set<std::string> keywords = {
      "False",   "None",   "True",     "and",      "as",   "assert", "async", "await",
      "break",   "class",  "continue", "def",      "del",  "elif",   "else",  "except",
      "finally", "for",    "from",     "global",   "if",   "import", "in",    "inf",
      "is",      "lambda", "nan",      "nonlocal", "not",  "or",     "pass",  "raise",
      "return",  "self",   "try",      "while",    "with", "yield"};
  return keywords.count(name) != 0 ? name + "_" : name;
}

std::string attr_schema_name(const std::string& name) {
  // torch takes these from the keywords of any op: `device` and `requires_grad` as those of
  // functions that make tensors, two as its own functions' parameters. `output_counts` is ours.
  static const std::set<std::string> taken = {"curr_mode", "device", "op_overload", "output_counts",
                                              "requires_grad"};
  return taken.count(name) != 0 ? name + "_" : schema_name(name);
}

}  // namespace oneop
