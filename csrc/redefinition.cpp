// redefinition.cpp: exchanging the schema of a torch op while other threads may call it.
#include <Python.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <chrono>
#include <thread>

#include "error.h"
#include "python_ref.h"
#include "torch_op.h"

namespace oneop {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kNap = std::chrono::microseconds(50);

// What must be the same for torch to need no new definition.
std::string text_of(const c10::FunctionSchema& schema, uint32_t flags) {
  return c10::toString(schema) +
         ((flags & ONEOP_OP_NON_CONTIGUOUS) != 0 ? " with any strides" : "") +
         ((flags & ONEOP_OP_RANDOM) != 0 ? " random" : "");
}

// torch parses the names of ops in several places, and not every identifier is one for its parser.
void check_name(const OpDef& op) {
  try {
    torch::jit::parseName("oneop::" + op.name);
  } catch (const std::exception&) {
    throw Error("RegistrationError", "op " + in_quotes(op.name) +
                                         ": the name is a keyword of torch's schema language\n"
                                         "  rename the op, as in " +
                                         in_quotes(op.name + "_op") + "\n  at " + op.source.text());
  }
}

std::string first_line(const char* text) {
  const std::string whole = text;
  return whole.substr(0, whole.find('\n'));
}

}  // namespace

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
      std::this_thread::sleep_for(kNap);
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

void check_stack(const Layout& layout, const torch::jit::Stack& stack) {
  bool fits = stack.size() >= static_cast<size_t>(layout.num_args);
  for (size_t i = 0; fits && i < layout.inputs.size(); ++i) {
    const c10::IValue& value = stack[stack.size() - layout.num_args + i];
    fits = layout.inputs[i] == Layout::Input::kList       ? value.isList() || value.isNone()
           : layout.inputs[i] == Layout::Input::kOptional ? value.isTensor() || value.isNone()
                                                          : value.isTensor();
  }
  if (!fits) {
    throw Error("OpRuntimeError", "op " + in_quotes(layout.op->name) +
                                      " was redefined with other arguments during this call\n"
                                      "  call it again");
  }
}

Redefinition::Redefinition(OpSlot* slot, OpRecord* record) : op_(TorchOp::of(slot)) {
  check_name(*record->op);
  auto layout = std::make_shared<Layout>();
  layout->op = record->op;
  c10::FunctionSchema schema = make_schema(*record->op, layout.get());
  const uint32_t flags = record->op->flags;
  const std::string text = text_of(schema, flags);
  is_new_ = op_.definition_ == nullptr;
  is_changed_ = text != op_.schema_text_;
  layout->schema_version = op_.schema_version_.load() + (is_changed_ ? 1 : 0);
  record->layout = layout;
  if (!is_changed_) {
    return;
  }
  if (!is_new_) {
    previous_ = op_.handle().schema();
    previous_text_ = op_.schema_text_;
    previous_version_ = op_.schema_version_.load();
    const RecordPtr before = op_.slot_->record();
    previous_flags_ = before != nullptr ? before->op->flags : 0;
    wait_for_calls();
  }
  try {
    op_.define(std::move(schema), flags);
    op_.register_kernels(*layout);
    if (!op_.handle_) {  // else other threads read it, and torch's entry of the op is the same
      const std::string qualified = "oneop::" + op_.name();
      op_.handle_ = c10::Dispatcher::singleton().findSchemaOrThrow(qualified.c_str(), "");
    }
    op_.schema_text_ = text;
    op_.schema_version_.store(layout->schema_version);
  } catch (const std::exception& error) {
    undo();
    const std::string reason = error.what();
    const bool is_taken = reason.find("multiple times") != std::string::npos;
    throw Error(is_taken ? "DuplicateOpError" : "RegistrationError",
                "op " + in_quotes(op_.name()) +
                    (is_taken ? ": torch.library has an op oneop::" + op_.name() +
                                    " already\n  op names are global: rename one of them"
                              : ": torch refuses it\n  " + first_line(error.what())) +
                    "\n  at " + record->op->source.text());
  }
}

Redefinition::~Redefinition() {
  if (!is_committed_ && is_changed_) {
    undo();
  }
}

void Redefinition::commit() noexcept {
  is_committed_ = true;
  op_.is_changing_.store(false);
}

void Redefinition::wait_for_calls() {
  op_.is_changing_.store(true);
  const auto deadline = steady_clock::now() + kPatience;
  while (op_.calls_on_the_way_.load() != 0) {
    if (steady_clock::now() > deadline) {
      op_.is_changing_.store(false);
      throw Error("RegistrationError",
                  "op " + in_quotes(op_.name()) +
                      " cannot get other arguments now: a call of it has been on its way for " +
                      std::to_string(kPatience.count()) +
                      " s\n  it is inside a torch mode (compile, export, a dispatch mode) on this "
                      "or another thread: end that first");
    }
    std::this_thread::sleep_for(kNap);
  }
}

void Redefinition::undo() noexcept {
  try {
    op_.definition_.reset();
    if (previous_) {
      op_.define(*previous_, previous_flags_);
      op_.schema_version_.store(previous_version_);
    } else {
      op_.kernels_.reset();
      op_.handle_.reset();
      op_.selects_backend_ = op_.counts_changes_ = false;
    }
    op_.schema_text_ = previous_text_;
  } catch (const std::exception&) {  // torch had this very definition before
  }
  is_committed_ = true;
  op_.is_changing_.store(false);
}

}  // namespace oneop
