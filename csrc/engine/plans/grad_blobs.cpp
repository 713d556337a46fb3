// grad_blobs.cpp: inference of one step after another, from the tensors of the forward op.
#include "engine/plans/grad_blobs.h"

#include "engine/ops/error.h"
#include "engine/registry/registry.h"

namespace oneop {
namespace {

TensorMeta meta_of(const oneop_tensor& tensor) {
  TensorMeta meta;
  meta.dtype = tensor.dtype;
  meta.device_type = tensor.device_type;
  meta.device_index = tensor.device_index;
  meta.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  meta.stride.assign(tensor.stride, tensor.stride + tensor.ndim);
  return meta;
}

std::vector<TensorMeta> outputs_of(const Frame& frame) {
  std::vector<TensorMeta> outputs;
  for (int32_t i = 0; i < frame.get().num_output_tensors; ++i) {
    outputs.push_back(meta_of(frame.output(i)));
  }
  return outputs;
}

}  // namespace

std::vector<TensorMeta> GradBlobs::infer(const FrameworkCall& call,
                                         const std::vector<int32_t>& blobs) {
  std::vector<const TensorMeta*> inputs;
  for (int32_t blob : blobs) {
    inputs.push_back(&find(blob));
  }
  return call.infer(inputs);
}

std::vector<TensorMeta> GradBlobs::infer(const GradStep& step) {
  if (step.call != nullptr) {
    return infer(*step.call, step.inputs[0]);
  }
  CallSpec spec;
  spec.device_type = frame_->get().device_type;
  spec.device_index = frame_->get().device_index;
  for (const auto& blobs : step.inputs) {
    spec.input_counts.push_back(static_cast<int32_t>(blobs.size()));
    for (int32_t blob : blobs) {
      spec.inputs.push_back(find(blob));
    }
  }
  spec.attrs = step.attrs;
  spec.output_counts = step.output_counts;
  const RecordPtr record = Registry::global().get(step.op);
  Frame frame(*record->op, spec);
  frame.infer();
  return outputs_of(frame);
}

void GradBlobs::keep(int32_t blob, TensorMeta meta) {
  Known& known = known_[blob];
  known.meta = std::move(meta);
  known.view = oneop_tensor{};
  known.view.shape = known.meta.shape.data();
  known.view.stride = known.meta.stride.data();
  known.view.ndim = static_cast<int32_t>(known.meta.shape.size());
  known.view.elem_cnt = 1;
  for (int64_t extent : known.meta.shape) {
    known.view.elem_cnt *= extent;
  }
  known.view.dtype = known.meta.dtype;
  known.view.device_type = known.meta.device_type;
  known.view.device_index = known.meta.device_index;
}

const TensorMeta& GradBlobs::find(int32_t blob) {
  const auto known = known_.find(blob);
  if (known != known_.end()) {
    return known->second.meta;
  }
  const int32_t first_step_blob = plan_->first_grad_blob() + plan_->num_outputs;
  if (blob < first_step_blob) {  // the gradient of an output is like the output
    const bool is_grad = blob >= plan_->first_grad_blob();
    keep(blob, meta_of(frame_->get().tensors[is_grad ? blob - plan_->num_outputs : blob]));
    return known_.at(blob).meta;
  }
  for (const GradStep& step : plan_->steps) {
    if (blob >= step.first_output && blob < step.first_output + step.num_outputs) {
      std::vector<TensorMeta> outputs = infer(step);
      for (size_t i = 0; i < outputs.size(); ++i) {
        keep(step.first_output + static_cast<int32_t>(i), std::move(outputs[i]));
      }
      return known_.at(blob).meta;
    }
  }
  throw Error("GradientError", "there is no blob " + std::to_string(blob));
}

const oneop_tensor& GradBlobs::describe(int32_t blob) {
  find(blob);
  return known_.at(blob).view;
}

}  // namespace oneop
