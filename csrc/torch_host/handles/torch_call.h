// torch_call.h: calls of torch's own ops, `aten::name.overload`, with the ABI's values: run at
// once, or recorded as a step of a gradient.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>
#include <vector>

#include "engine/ops/host.h"
#include "oneop/abi.h"

namespace oneop {

// Runs it and returns its tensors. Arguments that are not given get their defaults. Throws
// OpNotFoundError, ArgumentError, or what torch throws.
std::vector<at::Tensor> run_torch_call(const char* name, const oneop_value* args, int32_t num_args);

// A call whose tensors come later.
class RecordedCall final : public FrameworkCall {
 public:
  // Tensors among the arguments are ONEOP_VALUE_BLOB and ONEOP_VALUE_BLOBS. Throws ArgumentError,
  // and refuses ops that change their arguments or return something else than tensors.
  RecordedCall(const char* name, const oneop_value* args, int32_t num_args);

  const std::string& name() const { return name_; }
  const std::vector<int32_t>& blobs() const override { return blobs_; }
  int32_t num_outputs() const override { return num_outputs_; }
  std::vector<TensorMeta> infer(const std::vector<const TensorMeta*>& inputs) const override;

  // `tensors` are those of blobs().
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& tensors) const;

 private:
  // An argument made of tensors.
  struct Place {
    size_t argument;
    bool is_list;
    bool has_gaps;            // a list of optional tensors
    std::vector<bool> given;  // for each tensor of a list
  };
  // The one that an argument asks for, or none.
  std::optional<c10::Device> device() const;
  // Meta tensors like what run() would return.
  std::vector<at::Tensor> infer_on_meta(const std::vector<const TensorMeta*>& inputs) const;
  std::vector<at::Tensor> call_on_meta(const std::vector<at::Tensor>& metas) const;
  void add_place(size_t argument, const oneop_value& value);
  std::vector<at::Tensor> call(const std::vector<at::Tensor>& tensors, bool on_meta) const;

  std::string name_;
  c10::OperatorHandle op_;
  torch::jit::Stack arguments_;  // without the tensors
  std::vector<Place> places_;
  std::vector<int32_t> blobs_;
  int32_t num_outputs_ = 0;
};

}  // namespace oneop
