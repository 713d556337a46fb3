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
  Layout();
  const int64_t id;  // of no other layout ever, so that it can be remembered in place of an address

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
// What torch's compilers are told of an op with this schema and these flags.
std::vector<at::Tag> schema_tags(const c10::FunctionSchema& schema, uint32_t flags);

// One for each op name, never destroyed: graphs hold it. A redefinition replaces the record and, if
// the arguments change, the schema that torch knows.
class TorchOp {
 public:
  static TorchOp& of(OpSlot* slot);               // makes it at first
  static TorchOp& find(const std::string& name);  // throws OpNotFoundError

  const std::string& name() const { return slot_->name; }
  int32_t id() const { return slot_->id; }
  RecordPtr record() const;  // throws OpNotFoundError when the op is gone
  // For comparing only.
  const OpRecord* current() const { return slot_->address(); }
  const c10::OperatorHandle& handle() const { return *handle_; }
  void note_traced() const { slot_->is_traced.store(true, std::memory_order_relaxed); }

  // Calls the op through torch's dispatcher, with arguments that were put on the stack by `layout`.
  // False if the op has other arguments by now: nothing was called, and the stack is of no use.
  bool dispatch(const Layout& layout, torch::jit::Stack* stack) const;
  // For callers that cannot put the arguments together again. Throws.
  void dispatch_or_throw(const Layout& layout, torch::jit::Stack* stack) const;

 private:
  friend class DispatchWindow;
  friend class Redefinition;
  explicit TorchOp(OpSlot* slot) : slot_(slot) {}
  void register_kernels(const Layout& layout);
  void define(c10::FunctionSchema schema, uint32_t flags);  // those of the op

  OpSlot* slot_;
  std::optional<c10::OperatorHandle> handle_;
  std::string schema_text_;  // with all that torch is told besides
  std::atomic<int32_t> schema_version_{0};
  std::unique_ptr<torch::Library> definition_;
  std::unique_ptr<torch::Library> kernels_;
  bool selects_backend_ = false;
  bool counts_changes_ = false;

  // torch reads a stack by the schema, so the schema is not exchanged while a call is on its way
  // from its arguments to its kernel. Both are read and written in the order of Dekker's algorithm.
  mutable std::atomic<int32_t> calls_on_the_way_{0};
  std::atomic<bool> is_changing_{false};
};

// Marks that the call of `op` which this thread is making has read its arguments off the stack.
void leave_dispatch(const TorchOp& op);

// Throws unless the stack fits the layout: a call by torch.ops may have met a redefinition.
void check_stack(const Layout& layout, const torch::jit::Stack& stack);

// An op's new definition in torch. It is undone unless it is committed.
class Redefinition {
 public:
  // Gives the record its layout and defines the op in torch, or exchanges its schema, if it must.
  // Throws RegistrationError if torch does not take it, and DuplicateOpError if torch has another
  // op of this name; nothing is changed then.
  Redefinition(OpSlot* slot, OpRecord* record);
  ~Redefinition();
  Redefinition(const Redefinition&) = delete;
  Redefinition& operator=(const Redefinition&) = delete;

  // The op existed and its arguments changed: what Python remembers of it must be dropped.
  bool changed_arguments() const { return is_changed_ && !is_new_; }
  const std::string& name() const { return op_.name(); }
  void commit() noexcept;  // after the record was published

 private:
  void wait_for_calls();
  void undo() noexcept;

  TorchOp& op_;
  bool is_new_ = false;
  bool is_changed_ = false;
  bool is_committed_ = false;
  std::optional<c10::FunctionSchema> previous_;
  uint32_t previous_flags_ = 0;
  std::string previous_text_;
  int32_t previous_version_ = 0;
};

}  // namespace oneop
