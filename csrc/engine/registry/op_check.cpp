// op_check.cpp: names, counts, attributes and defaults of a definition.
#include "engine/registry/op_check.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "engine/frames/arg_traits.h"
#include "engine/ops/error.h"

namespace oneop {
namespace {

[[noreturn]] void refuse(const Source& source, const std::string& text) {
  throw Error("RegistrationError", text + "\n  at " + source.text());
}

// Of one argument. A call with more would take seconds to describe.
constexpr int32_t kMaxTensors = 1 << 16;

bool is_identifier(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

void check_args(const OpDef& op, const std::vector<ArgDef>& args, const char* side,
                std::set<std::string>* taken) {
  for (const ArgDef& arg : args) {
    const std::string where = "op " + in_quotes(op.name) + ": " + side + " " + in_quotes(arg.name);
    if (!is_identifier(arg.name)) {
      refuse(op.source, where + " is not an identifier");
    }
    if (!taken->insert(schema_name(arg.name)).second) {
      refuse(op.source, where + " has a name that is taken by another input, output or attribute");
    }
    if (arg.count < (arg.count_is_minimum ? 0 : 1) || arg.count > kMaxTensors) {
      refuse(op.source, where + " cannot have " + std::to_string(arg.count) + " tensors");
    }
  }
}

void check_gap_attrs(const OpDef& op) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t attr = op.gap_attr(i);
    if (op.inputs[i].has_gaps &&
        (attr < 0 || op.attrs[attr].type != ONEOP_ATTR_LIST_BOOL || op.attrs[attr].is_optional)) {
      refuse(op.source, "op " + in_quotes(op.name) + ": input " + in_quotes(op.inputs[i].name) +
                            " may have items that are None, and needs the attribute " +
                            in_quotes(op.inputs[i].name + "_given") + ", a list of bool");
    }
  }
}

void check_list_size(const OpDef& op, const AttrDef& attr, const std::string& where) {
  if (attr.list_size < 0 || (attr.list_size > 0 && !is_list_type(attr.type))) {
    refuse(op.source, where + " is a " + attr_type_name(attr.type) +
                          ", which cannot have the length " + std::to_string(attr.list_size));
  }
  if (attr.has_default && !attr.takes_length(attr.default_value)) {
    refuse(op.source, where + " is a " + attr.type_text() + ", its default has the length " +
                          std::to_string(attr.default_value.list_length()));
  }
}

void check_definition(const OpDef& op) {
  if (!is_identifier(op.name)) {
    refuse(op.source, "op " + in_quotes(op.name) + ": the name is not an identifier");
  }
  if (op.name.compare(0, 2, "__") == 0 || op.name == "name" || op.name == "_dir") {
    refuse(op.source, "op " + in_quotes(op.name) + ": the name means something else in torch.ops");
  }
  std::set<std::string> taken;
  const bool needs_tensor = std::any_of(op.inputs.begin(), op.inputs.end(),
                                        [](const ArgDef& arg) { return !arg.is_optional; });
  check_args(op, op.inputs, "input", &taken);
  check_args(op, op.outputs, "output", &taken);
  check_gap_attrs(op);
  for (const AttrDef& attr : op.attrs) {
    const std::string where = "op " + in_quotes(op.name) + ": attribute " + in_quotes(attr.name);
    if (!is_identifier(attr.name)) {
      refuse(op.source, where + " is not an identifier");
    }
    if (!taken.insert(attr_schema_name(attr.name)).second) {
      refuse(op.source, where + " has a name that is taken by another input, output or attribute");
    }
    if (attr.name == "device" && !needs_tensor) {
      refuse(op.source,
             where + " has a name that is taken: ops that may be called without tensors have a " +
                 in_quotes(attr.name));
    }
    if (attr.name == "output_counts" && op.has_open_outputs()) {
      refuse(op.source,
             where + " has a name that is taken: ops with a varying number of outputs have an " +
                 in_quotes(attr.name));
    }
    if (!is_attr_type(attr.type)) {
      refuse(op.source, where + " has the unknown type " + std::to_string(attr.type));
    }
    if (attr.is_positional && &attr != op.attrs.data() && !(&attr - 1)->is_positional) {
      refuse(op.source, where + " is given by position, and comes after one that is not");
    }
    check_list_size(op, attr, where);
    if (attr.has_default && !attr.takes_type(attr.default_value.type)) {
      refuse(op.source, where + " is a " + attr_type_name(attr.type) + ", its default is a " +
                            attr_type_name(attr.default_value.type));
    }
    if (attr.type == ONEOP_ATTR_DTYPE && attr.has_default && attr.default_value.i != 0 &&
        !is_dtype(static_cast<int32_t>(attr.default_value.i))) {
      refuse(op.source, where + " has the unknown dtype " + std::to_string(attr.default_value.i) +
                            " as its default");
    }
  }
}

}  // namespace

void check_kernel(const KernelDef& kernel) {
  const std::string where = "a kernel of op " + in_quotes(kernel.op_type_name);
  if (kernel.abi.create == nullptr || kernel.abi.compute == nullptr) {
    refuse(kernel.source, where + " has no create function: add .SetCreateFn<YourKernel>()");
  }
}

void check_grad(const GradDef& grad) {
  if (grad.abi.generate == nullptr && grad.rule == nullptr) {
    refuse(grad.source, "the gradient of op " + in_quotes(grad.op_type_name) +
                            " has no generator: add .SetBackwardOpConfGenFn(fn)");
  }
}

void check_op(OpDef* op) {
  check_definition(*op);
  read_arg_traits(op);
  for (const ArgDef& output : op->outputs) {
    op->flags |= output.dynamic_axes != 0 ? kDynamicOutputs : 0;
  }
  if (op->has_dynamic_outputs()) {  // parts of them would have sizes that the others do not know
    op->abi.get_sbp = nullptr;
    op->abi.infer_nd_sbp = nullptr;
  }
}

}  // namespace oneop
