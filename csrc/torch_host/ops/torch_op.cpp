// torch_op.cpp: torch's ops by name, and calls of them while others may redefine them.
#include "torch_host/ops/torch_op.h"

#include <Python.h>

#include <chrono>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "engine/ops/error.h"

namespace oneop {
namespace {

std::mutex& torch_ops_mutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

std::unordered_map<OpSlot*, TorchOp*>& torch_ops() {
  static auto* ops = new std::unordered_map<OpSlot*, TorchOp*>;
  return *ops;
}

}  // namespace

RecordPtr TorchOp::record() const {
  RecordPtr record = slot_->record();
  return record != nullptr ? record : Registry::global().get(slot_->name);
}

TorchOp& TorchOp::of(OpSlot* slot) {
  std::lock_guard<std::mutex> lock(torch_ops_mutex());
  TorchOp*& op = torch_ops()[slot];
  if (op == nullptr) {
    op = new TorchOp(slot);
  }
  return *op;
}

TorchOp& TorchOp::find(const std::string& name) {
  const std::string whole = Registry::global().resolve(name);
  Registry::global().get(whole);  // throws if unknown
  return of(Registry::global().find_slot(whole));
}

void TorchOp::define(c10::FunctionSchema schema, uint32_t flags) {
  // The kernels keep torch's entry of this op alive while its definition is exchanged, so handles
  // stay valid.
  definition_.reset();
  auto definition = std::make_unique<torch::Library>(torch::Library::FRAGMENT, "oneop",
                                                     std::nullopt, __FILE__, __LINE__);
  const std::vector<at::Tag> tags = schema_tags(schema, flags);
  definition->def(std::move(schema), tags);
  definition_ = std::move(definition);
}

// A call on its way from its arguments to its kernel.
class DispatchWindow {
 public:
  DispatchWindow(const TorchOp& op, int32_t schema_version) : op_(op), outer_(innermost) {
    innermost = this;
    open();
    while (op_.is_changing_.load()) {
      close();
      wait();
      open();
    }
    fits_ = op_.schema_version_.load() == schema_version;
  }
  ~DispatchWindow() {
    close();
    innermost = outer_;
  }
  DispatchWindow(const DispatchWindow&) = delete;
  DispatchWindow& operator=(const DispatchWindow&) = delete;

  bool fits() const { return fits_; }
  static void close_for(const TorchOp& op) {
    if (innermost != nullptr && &innermost->op_ == &op) {
      innermost->close();
    }
  }

 private:
  void open() {
    op_.calls_on_the_way_.fetch_add(1);
    is_open_ = true;
  }
  void close() {
    if (is_open_) {
      op_.calls_on_the_way_.fetch_sub(1);
      is_open_ = false;
    }
  }
  // A call that is on its way may need the GIL to get there, so it is not held meanwhile.
  void wait() const {
    PyThreadState* held = PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr;
    while (op_.is_changing_.load()) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    if (held != nullptr) {
      PyEval_RestoreThread(held);
    }
  }

  static thread_local DispatchWindow* innermost;
  const TorchOp& op_;
  DispatchWindow* outer_;
  bool is_open_ = false;
  bool fits_ = false;
};

thread_local DispatchWindow* DispatchWindow::innermost = nullptr;

void leave_dispatch(const TorchOp& op) { DispatchWindow::close_for(op); }

bool TorchOp::dispatch(const Layout& layout, torch::jit::Stack* stack) const {
  const DispatchWindow window(*this, layout.schema_version);
  if (!window.fits()) {
    return false;
  }
  handle().callBoxed(stack);
  return true;
}

void TorchOp::dispatch_or_throw(const Layout& layout, torch::jit::Stack* stack) const {
  if (!dispatch(layout, stack)) {
    throw Error("OpRuntimeError", "op " + in_quotes(name()) +
                                      " was redefined with other arguments during this call\n"
                                      "  call it again");
  }
}

}  // namespace oneop
