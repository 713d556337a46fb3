// dispatch_window.h: a call of an op, while torch reads its arguments by the op's schema.
#pragma once

#include <atomic>
#include <cstdint>

namespace oneop {

// Which schema an op has, and who is using it. The calls and the flag are read and written in the
// order of Dekker's algorithm.
struct SchemaState {
  std::atomic<int32_t> version{0};
  std::atomic<int32_t> calls_on_the_way{0};
  std::atomic<bool> is_changing{false};
};

// The schema is not exchanged while a window is open (see redefinition.cpp), and while it is being
// exchanged a new window waits.
//
// A call that nobody watches has no use of the schema once its kernel has begun, and a kernel may
// take long or define ops: leave() closes the window then. Where a mode, a transform or a subclass
// takes part, torch reads the schema again on the way back, so that the window stays open until the
// call returns.
class DispatchWindow {
 public:
  DispatchWindow(SchemaState* schema, int32_t version, bool is_watched);
  ~DispatchWindow();
  DispatchWindow(const DispatchWindow&) = delete;
  DispatchWindow& operator=(const DispatchWindow&) = delete;

  // False: the op has another schema than the caller's arguments were read by.
  bool fits() const { return fits_; }
  // Closes the innermost window of this thread if it is one of this op that nobody watches.
  static void leave(const SchemaState* schema);

 private:
  void open();
  void close();
  void wait() const;
  bool is_inside_open() const;

  static thread_local DispatchWindow* innermost;
  SchemaState* schema_;
  DispatchWindow* outer_;
  const bool is_watched_;
  bool is_open_ = false;
  bool fits_ = false;
};

}  // namespace oneop
