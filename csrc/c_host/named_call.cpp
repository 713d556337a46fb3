// named_call.cpp: see named_call.h.
#include "c_host/named_call.h"

#include <atomic>

#include "engine/ops/error.h"

namespace oneop {
namespace {

std::atomic<const oneop_framework*> framework{nullptr};

int32_t ask_num_outputs(const std::string& name, const std::vector<oneop_value>& args) {
  const oneop_framework* table = framework;
  const int32_t count = table == nullptr
                            ? -2
                            : table->num_outputs(table->self, name.c_str(), args.data(),
                                                 static_cast<int32_t>(args.size()));
  if (count < -1) {
    throw Error("OpNotFoundError",
                "it calls " + in_quotes(name) + ", for which this host has no equivalent");
  }
  return count;
}

void add_meta(void* sink, const int64_t* shape, int32_t ndim, int32_t dtype) {
  TensorMeta meta;
  meta.dtype = dtype;
  meta.shape.assign(shape, shape + ndim);
  meta.stride = TensorMeta::contiguous_stride(meta.shape);
  static_cast<std::vector<TensorMeta>*>(sink)->push_back(std::move(meta));
}

}  // namespace

void set_framework(const oneop_framework* table) { framework = table; }

NamedCall::NamedCall(const char* name, const oneop_value* args, int32_t num_args)
    : name_(name),
      arguments_(args, num_args),
      blobs_(arguments_.blobs()),
      num_outputs_(ask_num_outputs(name_, arguments_.values())) {}

std::vector<TensorMeta> NamedCall::infer(const std::vector<const TensorMeta*>& inputs) const {
  std::vector<oneop_tensor> tensors;
  for (const TensorMeta* input : inputs) {
    oneop_tensor tensor{};
    tensor.shape = const_cast<int64_t*>(input->shape.data());
    tensor.stride = const_cast<int64_t*>(input->stride.data());
    tensor.ndim = static_cast<int32_t>(input->shape.size());
    tensor.dtype = input->dtype;
    tensor.device_type = input->device_type;
    tensor.device_index = input->device_index;
    tensors.push_back(tensor);
  }
  std::vector<TensorMeta> outputs;
  const oneop_framework* table = framework;
  Status status;
  const int32_t code =
      table->infer(table->self, name_.c_str(), arguments_.values().data(),
                   static_cast<int32_t>(arguments_.values().size()), tensors.data(),
                   static_cast<int32_t>(tensors.size()), &add_meta, &outputs, status.abi());
  if (code != ONEOP_OK || status.failed()) {
    throw Error("GradientError", "the shape of what " + in_quotes(name_) +
                                     " returns cannot be inferred: " + status.message());
  }
  for (TensorMeta& meta : outputs) {
    if (!inputs.empty()) {
      meta.device_type = inputs[0]->device_type;
      meta.device_index = inputs[0]->device_index;
    }
  }
  return outputs;
}

}  // namespace oneop
