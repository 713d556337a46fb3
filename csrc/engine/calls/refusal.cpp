// refusal.cpp: see refusal.h.
#include "engine/calls/refusal.h"

#include "engine/ops/error.h"

namespace oneop {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

void refuse_argument(const OpDef& op, const std::string& text) {
  throw Error("ArgumentError",
              "op " + in_quotes(op.name) + text + "\n  defined at " + op.source.text());
}

void refuse_unknown_argument(const OpDef& op, const std::string& name,
                             const std::vector<std::string>& extra) {
  std::vector<std::string> known = op.input_names();
  for (const std::string& attr : op.attr_names()) {
    known.push_back(attr);
  }
  known.insert(known.end(), extra.begin(), extra.end());
  refuse_argument(op, " has no input or attribute " + in_quotes(name) + did_you_mean(name, known) +
                          "\n  it has: " + joined(known));
}

void refuse_positions(const OpDef& op, size_t found) {
  const size_t count = op.inputs.size();
  size_t num_positional = 0;
  std::vector<std::string> by_name;
  for (const AttrDef& attr : op.attrs) {
    if (attr.is_positional) {
      ++num_positional;
    } else {
      by_name.push_back(attr.name);
    }
  }
  const std::string attrs = joined(by_name);
  if (num_positional > 0) {
    refuse_argument(op, ": takes " + std::to_string(count + num_positional) +
                            " arguments by position, found " + std::to_string(found) +
                            (attrs.empty() ? "" : "\n  give these by name: " + attrs));
  }
  refuse_argument(op, (count == 0   ? std::string(": takes no inputs")
                       : count == 1 ? ": takes 1 input by position"
                                    : ": takes " + std::to_string(count) + " inputs by position") +
                          ", found " + std::to_string(found) +
                          (attrs.empty() ? "" : "\n  give attributes by name: " + attrs));
}

void refuse_twice(const OpDef& op, size_t argument, const std::string& name, bool is_by_position) {
  const std::string where = argument < op.inputs.size()
                                ? ", input " + in_quotes(op.inputs[argument].name)
                                : ", attribute " + in_quotes(name);
  refuse_argument(op,
                  where + ": given twice" + (is_by_position ? ", by position and by name" : ""));
}

void refuse_input(const OpDef& op, size_t input, const std::string& text) {
  refuse_argument(op, ", input " + in_quotes(op.inputs[input].name) + ": " + text);
}

void check_input_count(const OpDef& op, size_t input, size_t found) {
  const ArgDef& arg = op.inputs[input];
  if (!arg.takes(static_cast<int64_t>(found))) {
    refuse_input(op, input, "expected " + arg.counts_text() + ", found " + std::to_string(found));
  }
}

void check_default(const OpDef& op, const AttrDef& attr) {
  if (!attr.has_default) {
    refuse_argument(op, " needs the attribute " + in_quotes(attr.name) + ", a " + attr.type_text() +
                            "; it has no default");
  }
}

void check_output_counts(const OpDef& op, size_t found) {
  if (found != op.outputs.size()) {
    refuse_argument(op, ", output_counts: expected " + std::to_string(op.outputs.size()) +
                            " numbers (" + joined(op.output_names()) + "), found " +
                            std::to_string(found));
  }
}

namespace {

std::string type_words(int32_t type, const std::string& dtype) {
  switch (type) {
    case ONEOP_ATTR_INT32:
      return "an int of 32 bits";
    case ONEOP_ATTR_INT64:
      return "an int";
    case ONEOP_ATTR_BOOL:
      return "a bool";
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return "a float";
    case ONEOP_ATTR_STRING:
      return "a str";
    case ONEOP_ATTR_BYTES:
      return "bytes";
    case ONEOP_ATTR_SHAPE:
      return "a shape (tuple or list of ints)";
    case ONEOP_ATTR_DTYPE:
      return "a " + dtype;
    case ONEOP_ATTR_LIST_INT32:
      return "a list of ints of 32 bits";
    case ONEOP_ATTR_LIST_INT64:
      return "a list of ints";
    case ONEOP_ATTR_LIST_FLOAT:
      return "a list of floats of 32 bits";
    case ONEOP_ATTR_LIST_DOUBLE:
      return "a list of floats";
    case ONEOP_ATTR_LIST_DTYPE:
      return "a list of " + dtype;
    case ONEOP_ATTR_LIST_BOOL:
      return "a list of bools";
    case ONEOP_ATTR_SCALAR:
      return "an int of 64 bits, float, bool or complex";
    case ONEOP_ATTR_LIST_SHAPE:
      return "a list of shapes";
    case ONEOP_ATTR_LIST_STRING:
      return "a list of str";
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return "a complex";
    default:
      return "something else";
  }
}

}  // namespace

std::string expected_text(const AttrDef& attr, const std::string& dtype) {
  const std::string text = type_words(attr.type, dtype);
  if (attr.list_size == 0) {
    return text;
  }
  const bool is_float = attr.type == ONEOP_ATTR_LIST_FLOAT || attr.type == ONEOP_ATTR_LIST_DOUBLE;
  return text + " of length " + std::to_string(attr.list_size) +
         (!is_spread(attr.type) ? ""
          : is_float            ? ", or one float for all"
                                : ", or one int for all");
}

void check_length(const OpDef& op, const AttrDef& attr, const AttrValue& value) {
  if (!attr.takes_length(value)) {
    throw Error("ArgumentError",
                attr_refusal(op, attr, expected_text(attr, "dtype"),
                             value.repr() + " of length " + std::to_string(value.list_length())));
  }
}

std::string attr_refusal(const OpDef& op, const AttrDef& attr, const std::string& expected,
                         const std::string& found) {
  return "op " + in_quotes(op.name) + ", attribute " + in_quotes(attr.name) + ": expected " +
         expected + (attr.is_optional ? " or None" : "") + ", found " + found + "\n  defined at " +
         op.source.text();
}

std::string missing_gradient_text(const OpDef& op, const std::string& advice) {
  const bool is_python = op.source.is_python();
  return "op " + in_quotes(op.name) +
         " has no gradient, and one is needed: an input requires grad\n  add one: " +
         (is_python ? "@oneop.ops." + op.name + ".register_grad"
                    : "REGISTER_USER_OP_GRAD(" + in_quotes(op.name) +
                          "), in oneop/op.h OP(...).gradient") +
         "\n  or declare it not differentiable: " +
         (is_python ? "define(..., differentiable=False)" : ".NoGrad(), in oneop/op.h .no_grad()") +
         advice + (op.source.file.empty() ? "" : "\n  defined at " + op.source.text());
}

}  // namespace oneop
