// torch_op.h: an op as torch knows it: its schema, and where things are on the dispatcher's stack.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/registry/registry.h"
#include "torch_host/interpreter/trace_hook.h"
#include "torch_host/ops/dispatch_window.h"
#include "torch_host/ops/layout.h"

namespace oneop {

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
  SchemaState* schema() const { return &schema_; }
  void note_traced() const { tell_traced(slot_->name); }

  // Calls the op through torch's dispatcher, with arguments that were put on the stack by `layout`.
  // False if the op has other arguments by now: nothing was called, and the stack is of no use.
  bool dispatch(const Layout& layout, torch::jit::Stack* stack) const;
  // For callers that cannot put the arguments together again. Throws.
  void dispatch_or_throw(const Layout& layout, torch::jit::Stack* stack) const;
  [[noreturn]] void refuse_redefined() const;

 private:
  friend class Redefinition;
  explicit TorchOp(OpSlot* slot) : slot_(slot) {}
  void define(c10::FunctionSchema schema, uint32_t flags);  // those of the op

  OpSlot* slot_;
  std::optional<c10::OperatorHandle> handle_;
  std::string schema_text_;  // with all that torch is told besides
  std::unique_ptr<torch::Library> definition_;
  std::unique_ptr<torch::Library> kernels_;
  bool selects_backend_ = false;
  bool counts_changes_ = false;

  mutable SchemaState schema_;
};

// Marks that the call of `op` which this thread is making has read its arguments off the stack.
inline void leave_dispatch(const TorchOp& op) { DispatchWindow::leave(op.schema()); }

}  // namespace oneop
