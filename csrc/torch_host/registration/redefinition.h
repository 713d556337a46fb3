// redefinition.h: an op's new definition in torch.
#pragma once

#include <optional>
#include <string>

#include "torch_host/ops/torch_op.h"

namespace oneop {

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
  void register_kernels(const Layout& layout);
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
