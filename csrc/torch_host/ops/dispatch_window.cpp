// dispatch_window.cpp: holding back the exchange of a schema.
#include "torch_host/ops/dispatch_window.h"

#include <Python.h>

#include <chrono>
#include <thread>

namespace oneop {

thread_local DispatchWindow* DispatchWindow::innermost = nullptr;

DispatchWindow::DispatchWindow(const TorchOp& op, int32_t schema_version, bool is_watched)
    : op_(op), outer_(innermost), is_watched_(is_watched) {
  const bool must_not_wait = is_inside_open();  // the exchange waits for this very thread
  innermost = this;
  open();
  while (!must_not_wait && op_.is_changing_.load()) {
    close();
    wait();
    open();
  }
  fits_ = op_.schema_version_.load() == schema_version;
}

DispatchWindow::~DispatchWindow() {
  close();
  innermost = outer_;
}

bool DispatchWindow::is_inside_open() const {
  for (const DispatchWindow* window = outer_; window != nullptr; window = window->outer_) {
    if (&window->op_ == &op_ && window->is_open_) {
      return true;
    }
  }
  return false;
}

void DispatchWindow::open() {
  op_.calls_on_the_way_.fetch_add(1);
  is_open_ = true;
}

void DispatchWindow::close() {
  if (is_open_) {
    op_.calls_on_the_way_.fetch_sub(1);
    is_open_ = false;
  }
}

// A call that is on its way may need the GIL to get there, so it is not held meanwhile.
void DispatchWindow::wait() const {
  PyThreadState* held = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
  while (op_.is_changing_.load()) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (held != nullptr) {
    PyEval_RestoreThread(held);
  }
}

void leave_dispatch(const TorchOp& op) {
  DispatchWindow* window = DispatchWindow::innermost;
  if (window != nullptr && &window->op_ == &op && !window->is_watched_) {
    window->close();
  }
}

}  // namespace oneop
