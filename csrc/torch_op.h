// torch_op.h: an op as torch knows it: its schema, and where things are on the dispatcher's stack.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan.h"
#include "registry.h"

namespace oneop {

// The arguments on the stack: inputs, attributes, then `output_counts` and `device` for the ops
// that have them.
struct Layout {
  enum class Input { kTensor, kOptional, kList };

  std::shared_ptr<const OpDef> op;
  std::vector<Input> inputs;
  std::vector<int32_t> fixed_output_counts;
  int32_t num_args = 0;
  int32_t first_attr = 0;
  int32_t output_counts_arg = -1;  // ops whose number of outputs is open return one list
  int32_t device_arg = -1;         // ops that may be called without any tensor
  bool mutates = false;
  bool has_host_inputs = false;
  int32_t schema_version = 0;              // another one: other arguments
  std::vector<c10::IValue> attr_defaults;  // none where there is no default
  std::vector<PlanKey> attr_default_keys;  // the words that the defaults have in a call's key
  c10::IValue default_output_counts;

  bool returns_list() const { return output_counts_arg >= 0; }
};

c10::FunctionSchema make_schema(const OpDef& op, Layout* layout);

// One for each op name, for ever: graphs hold handles. A redefinition swaps the record and, if it
// must, the schema.
class TorchOp {
 public:
  // Defines or redefines torch.ops.oneop.<name>. True if the schema changed (Python caches must be
  // dropped).
  static bool define(OpSlot* slot);
  static TorchOp& of(OpSlot* slot);
  static TorchOp& find(const std::string& name);  // throws OpNotFoundError

  const std::string& name() const { return slot_->name; }
  const OpRecord& record() const;  // throws OpNotFoundError when the op is gone
  int32_t id() const { return slot_->id; }
  const Layout& layout() const { return *layout_.load(std::memory_order_acquire); }
  const c10::OperatorHandle& handle() const { return *handle_; }

 private:
  explicit TorchOp(OpSlot* slot) : slot_(slot) {}
  void register_kernels();

  OpSlot* slot_;
  std::atomic<const Layout*> layout_{nullptr};
  std::optional<c10::OperatorHandle> handle_;
  std::string schema_text_;
  int32_t schema_version_ = 0;
  std::unique_ptr<torch::Library> definition_;
  std::unique_ptr<torch::Library> kernels_;
  bool selects_backend_ = false;
  bool counts_changes_ = false;
};

}  // namespace oneop
