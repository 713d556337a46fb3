// dispatch_window.cpp: holding back the exchange of a schema.
#include "torch_host/ops/dispatch_window.h"

#include <Python.h>

#include <chrono>
#include <thread>

namespace oneop {

thread_local DispatchWindow* DispatchWindow::innermost = nullptr;

DispatchWindow::DispatchWindow(SchemaState* schema, int32_t version, bool is_watched)
    : schema_(schema), outer_(innermost), is_watched_(is_watched) {
  const bool must_not_wait = is_inside_open();  // the exchange waits for this very thread
  innermost = this;
  open();
  while (!must_not_wait && schema_->is_changing.load()) {
    close();
    wait();
    open();
  }
  fits_ = schema_->version.load() == version;
}

DispatchWindow::~DispatchWindow() {
  close();
  innermost = outer_;
}

bool DispatchWindow::is_inside_open() const {
  for (const DispatchWindow* window = outer_; window != nullptr; window = window->outer_) {
    if (window->schema_ == schema_ && window->is_open_) {
      return true;
    }
  }
  return false;
}

void DispatchWindow::open() {
  schema_->calls_on_the_way.fetch_add(1);
  is_open_ = true;
}

void DispatchWindow::close() {
  if (is_open_) {
    schema_->calls_on_the_way.fetch_sub(1);
    is_open_ = false;
  }
}

// A call that is on its way may need the GIL to get there, so it is not held meanwhile.
void DispatchWindow::wait() const {
  PyThreadState* held = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
  while (schema_->is_changing.load()) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (held != nullptr) {
    PyEval_RestoreThread(held);
  }
}

void DispatchWindow::leave(const SchemaState* schema) {
  if (innermost != nullptr && innermost->schema_ == schema && !innermost->is_watched_) {
    innermost->close();
  }
}

}  // namespace oneop
