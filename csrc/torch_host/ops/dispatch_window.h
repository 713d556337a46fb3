// dispatch_window.h: a call of an op, while torch reads its arguments by the op's schema.
#pragma once

#include "torch_host/ops/torch_op.h"

namespace oneop {

// The schema is not exchanged while a window is open (see redefinition.cpp), and while it is being
// exchanged a new window waits.
//
// A call that nobody watches has no use of the schema once its kernel has begun, and a kernel may
// take long or define ops: leave_dispatch() closes the window then. Where a mode, a transform or a
// subclass takes part, torch reads the schema again on the way back, so that the window stays open
// until the call returns.
class DispatchWindow {
 public:
  DispatchWindow(const TorchOp& op, int32_t schema_version, bool is_watched);
  ~DispatchWindow();
  DispatchWindow(const DispatchWindow&) = delete;
  DispatchWindow& operator=(const DispatchWindow&) = delete;

  // False: the op has another schema than the caller's arguments were read by.
  bool fits() const { return fits_; }

 private:
  friend void leave_dispatch(const TorchOp& op);
  void open();
  void close();
  void wait() const;
  bool is_inside_open() const;

  static thread_local DispatchWindow* innermost;
  const TorchOp& op_;
  DispatchWindow* outer_;
  const bool is_watched_;
  bool is_open_ = false;
  bool fits_ = false;
};

}  // namespace oneop
