// frame_inference.cpp: running an op's inference over a frame, and checking what it gives.
#include <algorithm>

#include "engine/frames/arg_counts.h"
#include "engine/frames/contiguous.h"
#include "engine/frames/frame.h"
#include "engine/ops/error.h"

namespace oneop {

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

}  // namespace oneop
