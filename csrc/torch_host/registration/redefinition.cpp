// redefinition.cpp: exchanging the schema of a torch op while other threads may call it.
#include "torch_host/registration/redefinition.h"

#include <torch/csrc/jit/frontend/function_schema_parser.h>

#include <chrono>
#include <thread>

#include "engine/ops/error.h"
#include "torch_host/autograd/autograd.h"
#include "torch_host/compute/compute.h"
#include "torch_host/compute/compute_meta.h"
#include "torch_host/interpreter/python_throw.h"

namespace oneop {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(10);
constexpr auto kNap = std::chrono::microseconds(50);

// What must be the same for torch to need no new definition.
std::string text_of(const c10::FunctionSchema& schema, uint32_t flags) {
  return c10::toString(schema) +
         ((flags & ONEOP_OP_NON_CONTIGUOUS) != 0 ? " with any strides" : "") +
         ((flags & ONEOP_OP_RANDOM) != 0 ? " random" : "") +
         ((flags & kDynamicOutputs) != 0 ? " of dynamic sizes" : "");
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

// One boxed kernel; torch calls it for any op through the TorchOp it belongs to.
using Act = void (*)(const TorchOp&, const c10::OperatorHandle&, c10::DispatchKeySet,
                     torch::jit::Stack*);

struct Functor final : c10::OperatorKernel {
  Functor(const TorchOp* torch_op, Act act_fn) : op(torch_op), act(act_fn) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    try {
      act(*op, handle, keys, stack);
    } catch (const Error& error) {
      throw_python_error(error);
    }
  }
  const TorchOp* op;
  Act act;
};

}  // namespace

Redefinition::Redefinition(OpSlot* slot, OpRecord* record) : op_(TorchOp::of(slot)) {
  check_name(*record->op);
  auto layout = std::make_shared<Layout>();
  layout->op = record->op;
  c10::FunctionSchema schema = make_schema(*record->op, layout.get());
  const uint32_t flags = record->op->flags;
  const std::string text = text_of(schema, flags);
  is_new_ = op_.definition_ == nullptr;
  is_changed_ = text != op_.schema_text_;
  layout->schema_version = op_.schema_.version.load() + (is_changed_ ? 1 : 0);
  record->layout = layout;
  if (!is_changed_) {
    return;
  }
  if (!is_new_) {
    previous_ = op_.handle().schema();
    previous_text_ = op_.schema_text_;
    previous_version_ = op_.schema_.version.load();
    const RecordPtr before = op_.slot_->record();
    previous_flags_ = before != nullptr ? before->op->flags : 0;
    wait_for_calls();
  }
  try {
    op_.define(std::move(schema), flags);
    register_kernels(*layout);
    if (!op_.handle_) {  // else other threads read it, and torch's entry of the op is the same
      const std::string qualified = "oneop::" + op_.name();
      op_.handle_ = c10::Dispatcher::singleton().findSchemaOrThrow(qualified.c_str(), "");
    }
    op_.schema_text_ = text;
    op_.schema_.version.store(layout->schema_version);
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

void Redefinition::register_kernels(const Layout& layout) {
  const auto add = [&](c10::DispatchKey key, Act act) {
    op_.kernels_->impl(op_.slot_->name.c_str(),
                       torch::dispatch(key, torch::CppFunction::makeFromBoxedFunctor(
                                                std::make_unique<Functor>(&op_, act))));
  };
  if (op_.kernels_ == nullptr) {
    op_.kernels_ = std::make_unique<torch::Library>(torch::Library::IMPL, "oneop", std::nullopt,
                                                    __FILE__, __LINE__);
    add(c10::DispatchKey::CPU, &compute);
    add(c10::DispatchKey::CUDA, &compute);
    add(c10::DispatchKey::Meta, &compute_meta);
    add(c10::DispatchKey::Autograd, &compute_autograd);
  }
  // Only calls without any tensor need to choose a device; for all others it would be a step more.
  if (layout.device_arg >= 0 && !op_.selects_backend_) {
    add(c10::DispatchKey::BackendSelect, &select_backend);
    op_.selects_backend_ = true;
  }
  if (layout.mutates && !op_.counts_changes_) {
    add(c10::DispatchKey::ADInplaceOrView, &count_changes);
    op_.counts_changes_ = true;
  }
}

Redefinition::~Redefinition() {
  if (!is_committed_ && is_changed_) {
    undo();
  }
}

void Redefinition::commit() noexcept {
  is_committed_ = true;
  op_.schema_.is_changing.store(false);
}

void Redefinition::wait_for_calls() {
  op_.schema_.is_changing.store(true);
  const auto deadline = steady_clock::now() + kPatience;
  while (op_.schema_.calls_on_the_way.load() != 0) {
    if (steady_clock::now() > deadline) {
      op_.schema_.is_changing.store(false);
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
      op_.schema_.version.store(previous_version_);
    } else {
      op_.kernels_.reset();
      op_.handle_.reset();
      op_.selects_backend_ = op_.counts_changes_ = false;
    }
    op_.schema_text_ = previous_text_;
  } catch (const std::exception&) {  // torch had this very definition before
  }
  is_committed_ = true;
  op_.schema_.is_changing.store(false);
}

}  // namespace oneop
