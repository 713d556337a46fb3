// frame.cpp: building frames, and showing them in messages.
#include "engine/frames/frame.h"

#include <algorithm>

#include "engine/frames/arg_counts.h"
#include "engine/frames/contiguous.h"
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

std::string name_of_input(const std::vector<oneop_arg>& inputs, int32_t tensor) {
  for (const oneop_arg& arg : inputs) {
    if (tensor < arg.first + arg.count) {
      return arg.name;
    }
  }
  return "?";
}

}  // namespace

Frame::Frame(const OpDef& op, const CallSpec& spec) : op_(op), attr_values_(spec.attrs) {
  const int32_t num_inputs = total_count(spec.input_counts);
  const int32_t num_outputs = total_count(spec.output_counts);
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

}  // namespace oneop
