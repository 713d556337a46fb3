// named_call.h: a call of the framework in a gradient, known by its name; the program says what it
// returns and runs it.
#pragma once

#include <string>

#include "c_host/owned_values.h"
#include "engine/ops/host.h"
#include "oneop/runtime.h"

namespace oneop {

// The program's answers; null: it has no framework.
void set_framework(const oneop_framework* framework);

class NamedCall final : public FrameworkCall {
 public:
  // Throws OpNotFoundError where the program does not know the op.
  NamedCall(const char* name, const oneop_value* args, int32_t num_args);

  const std::string& name() const { return name_; }
  const OwnedValues& arguments() const { return arguments_; }
  const std::vector<int32_t>& blobs() const override { return blobs_; }
  int32_t num_outputs() const override { return num_outputs_; }
  std::vector<TensorMeta> infer(const std::vector<const TensorMeta*>& inputs) const override;

 private:
  std::string name_;
  OwnedValues arguments_;
  std::vector<int32_t> blobs_;
  int32_t num_outputs_;
};

}  // namespace oneop
