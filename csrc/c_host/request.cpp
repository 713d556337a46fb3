// request.cpp: see request.h.
#include "c_host/request.h"

#include <algorithm>

#include "engine/calls/refusal.h"
#include "engine/frames/arg_counts.h"
#include "engine/ops/abi_read.h"

namespace oneop {
namespace {

bool is_float(int32_t type) { return type == ONEOP_ATTR_FLOAT || type == ONEOP_ATTR_DOUBLE; }
bool is_integer(int32_t type) { return type == ONEOP_ATTR_INT32 || type == ONEOP_ATTR_INT64; }

// A number takes the type that the op declares, as in C; everything else must have it.
AttrValue value_of(const OpDef& op, const AttrDef& attr, oneop_attr given) {
  if (is_float(attr.type) && is_integer(given.type)) {
    given.value.f = static_cast<double>(given.value.i);
    given.type = attr.type;
  } else if ((is_float(attr.type) && is_float(given.type)) ||
             (is_integer(attr.type) && is_integer(given.type))) {
    given.type = attr.type;
  } else if (attr.type == ONEOP_ATTR_SCALAR && given.type == ONEOP_ATTR_INT32) {
    given.type = ONEOP_ATTR_INT64;
  } else if (attr.type == ONEOP_ATTR_SCALAR && given.type == ONEOP_ATTR_FLOAT) {
    given.type = ONEOP_ATTR_DOUBLE;
  }
  if (!attr.takes_type(given.type)) {
    refuse_argument(op, ", attribute " + in_quotes(attr.name) + ": expected " + attr.type_text() +
                            ", found " + attr_type_name(given.type));
  }
  AttrValue value = AttrValue::copy_of(given);
  check_length(op, attr, value);
  return value;
}

TensorMeta meta_of(const OpDef& op, const oneop_tensor& tensor) {
  TensorMeta meta;
  meta.dtype = tensor.dtype;
  meta.device_type =
      tensor.device_type == ONEOP_DEVICE_INVALID ? ONEOP_DEVICE_CPU : tensor.device_type;
  meta.device_index = tensor.device_index;
  const int32_t ndim = checked_count(tensor.ndim, tensor.shape, "oneop_tensor.ndim");
  meta.shape.assign(tensor.shape, tensor.shape + ndim);
  if (!is_dtype(meta.dtype)) {
    refuse_argument(op, ": an input has the dtype code " + std::to_string(meta.dtype) +
                            ", which is none of oneop/abi.h");
  }
  if (std::any_of(meta.shape.begin(), meta.shape.end(), [](int64_t size) { return size < 0; })) {
    refuse_argument(
        op, ": an input has the impossible shape " + tensor_text(meta.dtype, tensor.shape, ndim));
  }
  const std::vector<int64_t> contiguous = TensorMeta::contiguous_stride(meta.shape);
  meta.stride = contiguous;
  if (tensor.stride != nullptr && tensor.ndim > 0) {
    meta.stride.assign(tensor.stride, tensor.stride + ndim);
  }
  if (meta.stride != contiguous && !op.has_flag(ONEOP_OP_NON_CONTIGUOUS)) {
    refuse_argument(op, ": its kernels take contiguous tensors, and one has other strides");
  }
  return meta;
}

std::vector<AttrValue> attrs_of(const OpDef& op, const oneop_request& request) {
  for (int32_t i = 0; i < request.num_attrs; ++i) {
    const std::string name = text(request.attrs[i].name);
    bool is_known = false;
    for (const AttrDef& attr : op.attrs) {
      is_known |= attr.name == name;
    }
    if (!is_known) {
      refuse_unknown_argument(op, name, {});
    }
  }
  std::vector<AttrValue> values;
  for (const AttrDef& attr : op.attrs) {
    const oneop_attr* given = nullptr;
    for (int32_t i = 0; i < request.num_attrs; ++i) {
      if (attr.name == request.attrs[i].name) {
        given = &request.attrs[i];
      }
    }
    if (given == nullptr) {
      check_default(op, attr);
    }
    values.push_back(given == nullptr ? attr.default_value : value_of(op, attr, *given));
  }
  return values;
}

// Whether there are counts, and it is said how many.
bool is_told(const int32_t* counts, int32_t number) { return counts != nullptr && number != 0; }

}  // namespace

void check_is_current(const OpDef& op, const char* kind, size_t made_for, size_t wanted) {
  if (made_for != wanted) {
    refuse_argument(op, ": the call was made for " + std::to_string(made_for) + " " + kind +
                            ", and the op has " + std::to_string(wanted) +
                            " since its library was loaded again\n  make the call again");
  }
}

std::vector<int32_t> least_outputs(const OpDef& op) {
  std::vector<int32_t> counts;
  for (const ArgDef& arg : op.outputs) {
    counts.push_back(op.has_open_outputs() && arg.is_optional ? 0 : arg.count);
  }
  return counts;
}

CallSpec spec_of(const OpDef& op, const oneop_request& request) {
  checked_count(request.num_attrs, request.attrs, "oneop_request.num_attrs");
  return spec_of(op, request, attrs_of(op, request));
}

CallSpec spec_of(const OpDef& op, const oneop_request& request, std::vector<AttrValue> values) {
  CallSpec spec;
  checked_count(request.num_inputs, request.inputs, "oneop_request.num_inputs");
  if (is_told(request.input_counts, request.num_input_counts)) {
    check_is_current(op, "inputs", request.num_input_counts, op.inputs.size());
  }
  if (is_told(request.output_counts, request.num_output_counts)) {
    check_is_current(op, "outputs", request.num_output_counts, op.outputs.size());
  }
  for (size_t a = 0; a < op.inputs.size(); ++a) {
    const int32_t left = request.num_inputs - static_cast<int32_t>(a);
    spec.input_counts.push_back(request.input_counts != nullptr ? request.input_counts[a]
                                                                : (left > 0 ? 1 : 0));
  }
  int64_t total = 0;  // of counts that nobody has checked yet
  for (int32_t count : spec.input_counts) {
    total += count;
  }
  if (total != request.num_inputs) {
    refuse_argument(op, ": takes " + std::to_string(op.inputs.size()) + " inputs for " +
                            std::to_string(total) + " tensors, found " +
                            std::to_string(request.num_inputs));
  }
  for (int32_t i = 0; i < request.num_inputs; ++i) {
    spec.inputs.push_back(meta_of(op, request.inputs[i]));
  }
  spec.attrs = std::move(values);
  spec.output_counts =
      request.output_counts == nullptr
          ? least_outputs(op)
          : std::vector<int32_t>(request.output_counts, request.output_counts + op.outputs.size());
  check_counts(op, spec.input_counts, spec.output_counts);
  const bool is_open = request.device_type == ONEOP_DEVICE_INVALID;
  if (!is_open || !spec.inputs.empty()) {
    spec.device_type = is_open ? spec.inputs[0].device_type : request.device_type;
    spec.device_index = is_open ? spec.inputs[0].device_index : request.device_index;
  }
  return spec;
}

}  // namespace oneop
