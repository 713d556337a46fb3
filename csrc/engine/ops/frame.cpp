// frame.cpp: building frames, and running inference over them.
#include "engine/ops/frame.h"

#include <algorithm>

#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"

namespace oneop {
namespace {

void fill_args(const std::vector<ArgDef>& defs, const std::vector<int32_t>& counts, int32_t first,
               std::vector<oneop_arg>* args) {
  for (size_t i = 0; i < defs.size(); ++i) {
    args->push_back({defs[i].name.c_str(), first, counts[i]});
    first += counts[i];
  }
}

int32_t total(const std::vector<int32_t>& counts) {
  int32_t sum = 0;
  for (int32_t count : counts) {
    sum += count;
  }
  return sum;
}

int64_t count_elements(const int64_t* shape, int32_t ndim) {
  int64_t count = 1;
  for (int32_t i = 0; i < ndim; ++i) {
    count *= shape[i];
  }
  return count;
}

void set_contiguous(oneop_tensor* tensor) {
  int64_t step = 1;
  for (int32_t i = tensor->ndim - 1; i >= 0; --i) {
    tensor->stride[i] = step;
    step *= std::max<int64_t>(tensor->shape[i], 1);
  }
}

std::string name_of_input(const std::vector<oneop_arg>& inputs, int32_t tensor) {
  for (const oneop_arg& arg : inputs) {
    if (tensor < arg.first + arg.count) {
      return arg.name;
    }
  }
  return "?";
}

void check_side(const OpDef& op, const std::vector<ArgDef>& args,
                const std::vector<int32_t>& counts, const char* side) {
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_taken = args[i].takes(counts[i]);
    if (is_taken && counts[i] <= kMaxCount) {
      continue;
    }
    const std::string expected =
        is_taken ? "at most " + std::to_string(kMaxCount) + " tensors" : args[i].counts_text();
    throw Error("ArgumentError", "op " + in_quotes(op.name) + ", " + side + " " +
                                     in_quotes(args[i].name) + ": expected " + expected +
                                     ", found " + std::to_string(counts[i]) + "\n  defined at " +
                                     op.source.text());
  }
}

}  // namespace

std::vector<int64_t> TensorMeta::contiguous_stride(const std::vector<int64_t>& shape) {
  std::vector<int64_t> stride(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    stride[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return stride;
}

Frame::Frame(const OpDef& op, const CallSpec& spec) : op_(op), attr_values_(spec.attrs) {
  const int32_t num_inputs = total(spec.input_counts);
  const int32_t num_outputs = total(spec.output_counts);
  fill_args(op.inputs, spec.input_counts, 0, &inputs_);
  fill_args(op.outputs, spec.output_counts, num_inputs, &outputs_);
  tensors_.resize(num_inputs + num_outputs);
  place_tensors(spec, num_inputs);

  spans_.resize(attr_values_.size());
  for (size_t i = 0; i < attr_values_.size(); ++i) {
    attrs_.push_back(attr_values_[i].view(op.attrs[i].name.c_str(), &spans_[i]));
  }
  fill_frame(spec, num_inputs);
}

// Gives each tensor room for its shape and strides. Outputs begin as the first input, which most
// ops' inference leaves as it is.
void Frame::place_tensors(const CallSpec& spec, int32_t num_inputs) {
  constexpr size_t kRoom = ONEOP_MAX_DIMS;
  dims_.resize(2 * kRoom * tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    oneop_tensor& tensor = tensors_[i];
    tensor.shape = dims_.data() + 2 * kRoom * i;
    tensor.stride = tensor.shape + kRoom;
    const TensorMeta* meta = static_cast<int32_t>(i) < num_inputs ? &spec.inputs[i]
                             : num_inputs > 0                     ? &spec.inputs[0]
                                                                  : nullptr;
    if (meta == nullptr) {  // the output of an op without inputs
      tensor.elem_cnt = 1;
    } else {
      if (meta->shape.size() > kRoom) {
        throw Error("ArgumentError",
                    "op " + in_quotes(op_.name) + ", input " +
                        in_quotes(name_of_input(inputs_, static_cast<int32_t>(i))) +
                        ": expected at most " + std::to_string(kRoom) + " dimensions, found " +
                        std::to_string(meta->shape.size()) + "\n  defined at " + op_.source.text());
      }
      tensor.ndim = static_cast<int32_t>(meta->shape.size());
      std::copy(meta->shape.begin(), meta->shape.end(), tensor.shape);
      std::copy(meta->stride.begin(), meta->stride.end(), tensor.stride);
      tensor.elem_cnt = count_elements(tensor.shape, tensor.ndim);
      tensor.dtype = meta->dtype;
    }
    const bool is_input = static_cast<int32_t>(i) < num_inputs;
    tensor.device_type = is_input ? meta->device_type : spec.device_type;
    tensor.device_index = is_input ? meta->device_index : spec.device_index;
    if (!is_input) {
      set_contiguous(&tensor);
    }
  }
}

// All pointers are to members: their storage is final from here on.
void Frame::fill_frame(const CallSpec& spec, int32_t num_inputs) {
  reads_.size = sizeof reads_;
  frame_.size = sizeof frame_;
  frame_.tensor_size = sizeof(oneop_tensor);
  frame_.attr_size = sizeof(oneop_attr);
  frame_.arg_size = sizeof(oneop_arg);
  frame_.host = host().services();
  frame_.op_type_name = op_.name.c_str();
  frame_.op_name = op_.name.c_str();
  frame_.inputs = inputs_.data();
  frame_.outputs = outputs_.data();
  frame_.tensors = tensors_.data();
  frame_.attrs = attrs_.data();
  frame_.num_inputs = static_cast<int32_t>(inputs_.size());
  frame_.num_outputs = static_cast<int32_t>(outputs_.size());
  frame_.num_attrs = static_cast<int32_t>(attrs_.size());
  frame_.num_input_tensors = num_inputs;
  frame_.num_output_tensors = static_cast<int32_t>(tensors_.size()) - num_inputs;
  frame_.device_type = spec.device_type;
  frame_.device_index = spec.device_index;
  frame_.parallel_num = 1;
  frame_.reads = &reads_;
  frame_.required = shown_to_kernels(spec.required);
}

void check_gap_count(const OpDef& op, size_t input, int64_t found, int64_t expected) {
  if (found != expected) {
    throw Error("ArgumentError",
                "op " + in_quotes(op.name) + ", input " + in_quotes(op.inputs[input].name) +
                    ": found " + std::to_string(found) + " tensors, and " +
                    in_quotes(op.attrs[op.gap_attr(input)].name) + " says that " +
                    std::to_string(expected) + " are given\n  defined at " + op.source.text());
  }
}

void Frame::check_gaps() const {
  for (size_t i = 0; i < op_.inputs.size(); ++i) {
    const int32_t attr = op_.gap_attr(i);
    if (attr < 0 || attr_values_[attr].bools.empty()) {
      continue;
    }
    const std::vector<uint8_t>& given = attr_values_[attr].bools;
    const auto count = static_cast<int32_t>(std::count(given.begin(), given.end(), 1));
    check_gap_count(op_, i, frame_.inputs[i].count, count);
  }
}

void Frame::infer() {
  check_gaps();
  const std::string what = "op " + in_quotes(op_.name);
  const oneop_op_def& abi = op_.abi;
  const auto inputs = [this](const std::string& said) { return inputs_beside(said); };
  Status status;
  if (abi.check_attrs != nullptr) {
    status.check(abi.check_attrs(abi.self, &frame_, status.abi()), what, inputs);
  }
  if (abi.infer_logical == nullptr) {
    throw Error("OpNotImplementedError",
                what + " has no shape inference: add " +
                    (op_.source.is_python() ? "infer=... or @op.register_infer"
                                            : ".SetTensorDescInferFn(fn)") +
                    "\n  defined at " + op_.source.text());
  }
  status.check(abi.infer_logical(abi.self, &frame_, status.abi()), what, inputs);
  if (abi.infer_dtype != nullptr) {
    status.check(abi.infer_dtype(abi.self, &frame_, status.abi()), what, inputs);
  }
  check_outputs();
  for (int32_t i = frame_.num_input_tensors; i < static_cast<int32_t>(tensors_.size()); ++i) {
    tensors_[i].elem_cnt = count_elements(tensors_[i].shape, tensors_[i].ndim);
    set_contiguous(&tensors_[i]);
  }
  mark_dynamic();
}

// What was found, beside what inference says of it; nothing where that says it already.
std::string Frame::inputs_beside(const std::string& said) const {
  bool is_said = true;
  for (int32_t i = 0; i < frame_.num_input_tensors; ++i) {
    const oneop_tensor& tensor = tensors_[i];
    const std::string text = tensor_text(tensor.dtype, tensor.shape, tensor.ndim);
    is_said &= said.find(text.substr(text.find('['))) != std::string::npos;
  }
  return is_said ? "" : side_text(inputs_);
}

void Frame::refuse_dynamic_axis(int32_t output, const oneop_tensor& tensor) const {
  uint32_t axes = op_.outputs[output].dynamic_axes >> tensor.ndim;
  int32_t axis = tensor.ndim;
  for (; (axes & 1) == 0; axes >>= 1) {
    ++axis;
  }
  throw Error("CheckError",
              "op " + in_quotes(op_.name) + ": output " + in_quotes(outputs_[output].name) +
                  " is declared to have a size that depends on data along axis " +
                  std::to_string(axis) + ", and inference gave it " + std::to_string(tensor.ndim) +
                  " axes\n  " + call_text() + "\n  declare an axis that it has: dynamic={" +
                  in_quotes(outputs_[output].name) + ": 0}, in C++ .dynamic(" +
                  in_quotes(outputs_[output].name) + ", 0)\n  defined at " + op_.source.text());
}

// From here on `is_dynamic` of an output is what kernels see: a bit for each axis.
void Frame::mark_dynamic() {
  for (int32_t a = 0; a < frame_.num_outputs; ++a) {
    for (int32_t i = 0; i < outputs_[a].count; ++i) {
      oneop_tensor& tensor = tensors_[outputs_[a].first + i];
      // Inference that says it without a declaration, as OneFlow's does, names no axes.
      const uint32_t named = op_.outputs[a].dynamic_axes;
      const uint32_t axes = named != 0 ? named : tensor.is_dynamic != 0 ? ~0u : 0;
      const uint32_t there = tensor.ndim >= 32 ? ~0u : (1u << tensor.ndim) - 1;
      if ((named & ~there) != 0) {
        refuse_dynamic_axis(a, tensor);
      }
      tensor.is_dynamic = static_cast<int32_t>(axes & there);
      has_dynamic_outputs_ |= tensor.is_dynamic != 0;
    }
  }
}

void Frame::set_outputs(const std::vector<std::pair<std::vector<int64_t>, int32_t>>& outputs) {
  if (op_.abi.check_attrs != nullptr) {
    Status status;
    status.check(op_.abi.check_attrs(op_.abi.self, &frame_, status.abi()),
                 "op " + in_quotes(op_.name));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    oneop_tensor& tensor = tensors_[frame_.num_input_tensors + i];
    tensor.ndim = static_cast<int32_t>(outputs[i].first.size());
    std::copy(outputs[i].first.begin(), outputs[i].first.end(), tensor.shape);
    tensor.dtype = outputs[i].second;
  }
  check_outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    oneop_tensor& tensor = tensors_[frame_.num_input_tensors + i];
    tensor.elem_cnt = count_elements(tensor.shape, tensor.ndim);
    set_contiguous(&tensor);
  }
}

std::string Frame::output_fault(const oneop_tensor& tensor) const {
  const size_t at = &tensor - tensors_.data();
  if (tensor.shape != dims_.data() + 2 * ONEOP_MAX_DIMS * at ||
      tensor.stride != tensor.shape + ONEOP_MAX_DIMS) {
    return "address of a shape (write into the shape that is there)";
  }
  if (tensor.ndim < 0 || tensor.ndim > ONEOP_MAX_DIMS) {
    return "number of dimensions " + std::to_string(tensor.ndim) + " (expected 0 to " +
           std::to_string(ONEOP_MAX_DIMS) + ")";
  }
  // The size in bytes must be a number too, with up to 16 bytes an element.
  int64_t bytes = 16;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] < 0 ||
        __builtin_mul_overflow(bytes, std::max<int64_t>(tensor.shape[i], 1), &bytes)) {
      return "shape " + tensor_text(tensor.dtype, tensor.shape, tensor.ndim);
    }
  }
  return is_dtype(tensor.dtype) ? "" : "dtype code " + std::to_string(tensor.dtype);
}

// Inference is the author's code: nothing is computed from an output before it is checked.
void Frame::check_outputs() {
  for (int32_t a = 0; a < frame_.num_outputs; ++a) {
    for (int32_t i = 0; i < outputs_[a].count; ++i) {
      oneop_tensor& tensor = tensors_[outputs_[a].first + i];
      const std::string fault = output_fault(tensor);
      if (fault.empty()) {
        continue;
      }
      tensor.ndim = std::clamp(tensor.ndim, 0, ONEOP_MAX_DIMS);  // so that it can be shown
      tensor.shape = dims_.data() + 2 * ONEOP_MAX_DIMS * (&tensor - tensors_.data());
      throw Error("CheckError", "op " + in_quotes(op_.name) + ": inference gave output " +
                                    in_quotes(outputs_[a].name) + " the impossible " + fault +
                                    "\n  " + call_text() + "\n  defined at " + op_.source.text());
    }
  }
}

const oneop_tensor* Frame::find(const std::string& arg, int32_t index) const {
  for (const auto* args : {&inputs_, &outputs_}) {
    for (const oneop_arg& candidate : *args) {
      if (arg == candidate.name) {
        return index < candidate.count ? &tensors_[candidate.first + index] : nullptr;
      }
    }
  }
  return nullptr;
}

std::string Frame::call_text() const { return side_text(inputs_) + " -> " + side_text(outputs_); }

std::string Frame::side_text(const std::vector<oneop_arg>& args) const {
  std::string text;
  const char* separator = "";
  for (const oneop_arg& arg : args) {
    for (int32_t i = 0; i < arg.count && i < 4; ++i) {
      const oneop_tensor& tensor = tensors_[arg.first + i];
      text += separator + std::string(arg.name) + ": " +
              tensor_text(tensor.dtype, tensor.shape, tensor.ndim);
      separator = ", ";
    }
    if (arg.count > 4) {
      text += ", ... (" + std::to_string(arg.count) + " in all)";
    }
  }
  return text;
}

void check_counts(const OpDef& op, const std::vector<int32_t>& input_counts,
                  const std::vector<int32_t>& output_counts) {
  check_side(op, op.inputs, input_counts, "input");
  check_side(op, op.outputs, output_counts, "output");
}

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
  spec.inputs.resize(total(spec.input_counts));
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
    std::vector<oneop_arg_modifier> modifiers(spec.inputs.size() + total(spec.output_counts),
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
