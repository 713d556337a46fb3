// arg_traits.cpp: a call with every argument once and no data, for the op to look at.
#include "engine/frames/arg_traits.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/frames/arg_counts.h"
#include "engine/frames/frame.h"
#include "engine/ops/error.h"

namespace oneop {
namespace {

// A value that stands for any: zero, or a list of zeros where its length is fixed.
AttrValue zero_of(const AttrDef& attr) {
  AttrValue value;
  value.type = attr.type == ONEOP_ATTR_SCALAR ? ONEOP_ATTR_INT64 : attr.type;
  const auto count = static_cast<size_t>(attr.list_size);
  switch (attr.type) {
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      value.doubles.resize(2);
      break;
    case ONEOP_ATTR_LIST_INT64:
      value.int64s.resize(count);
      break;
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_DTYPE:
      value.int32s.resize(count);
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      value.floats.resize(count);
      break;
    case ONEOP_ATTR_LIST_DOUBLE:
      value.doubles.resize(count);
      break;
    case ONEOP_ATTR_LIST_BOOL:
      value.bools.resize(count);
      break;
    case ONEOP_ATTR_LIST_SHAPE:
      value.shapes.resize(count);
      break;
    case ONEOP_ATTR_LIST_STRING:
      value.strings.resize(count);
      break;
    default:
      break;
  }
  return value;
}

}  // namespace

void read_arg_traits(OpDef* op) {
  op->input_traits.assign(op->inputs.size(), ArgTraits());
  op->output_traits.assign(op->outputs.size(), ArgTraits());
  if (op->abi.modify_inputs == nullptr && op->abi.modify_outputs == nullptr) {
    return;
  }

  // The traits belong to the definition, so they are read from a call that has every argument once
  // and no data.
  CallSpec spec;
  for (const ArgDef& arg : op->inputs) {
    spec.input_counts.push_back(std::max(arg.count, 1));
  }
  for (const ArgDef& arg : op->outputs) {
    spec.output_counts.push_back(std::max(arg.count, 1));
  }
  spec.inputs.resize(total_count(spec.input_counts));
  for (const AttrDef& attr : op->attrs) {
    spec.attrs.push_back(attr.default_value);
    if (attr.is_optional) {
      continue;  // its default, or None
    }
    if (!attr.takes_type(spec.attrs.back().type)) {
      spec.attrs.back() = zero_of(attr);
    }
  }
  Frame frame(*op, spec);
  Status status;
  const auto read = [&](oneop_modify_fn modify, const oneop_arg* args,
                        std::vector<ArgTraits>* traits) {
    if (modify == nullptr) {
      return;
    }
    std::vector<oneop_arg_modifier> modifiers(spec.inputs.size() + total_count(spec.output_counts),
                                              oneop_arg_modifier{0, 1, 1, 0});
    status.check(modify(op->abi.self, frame.abi(), modifiers.data(), status.abi()),
                 "op " + in_quotes(op->name) + ", argument modifier");
    for (size_t i = 0; i < traits->size(); ++i) {  // tensors are numbered within their side
      const oneop_arg_modifier& modifier = modifiers[args[i].first - args[0].first];
      (*traits)[i] = {modifier.is_mutable != 0, modifier.requires_grad != 0};
    }
  };
  read(op->abi.modify_inputs, frame.get().inputs, &op->input_traits);
  read(op->abi.modify_outputs, frame.get().outputs, &op->output_traits);
}

}  // namespace oneop
