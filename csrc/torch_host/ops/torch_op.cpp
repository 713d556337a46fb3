// torch_op.cpp: torch's ops by name, and calls of them while others may redefine them.
#include "torch_host/ops/torch_op.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <mutex>
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

namespace {

// Whether somebody else than kernels sees a call: a mode, a transform or a subclass of Tensor.
bool is_watched(const Layout& layout, const torch::jit::Stack& stack) {
  if (c10::impl::raw_local_dispatch_key_set.included_ != 0) {
    return true;
  }
  const auto has_python = [](const at::Tensor& tensor) {
    return tensor.defined() && tensor.key_set().has_any(c10::python_ks);
  };
  for (size_t i = stack.size() - layout.num_args; i < stack.size(); ++i) {
    if (stack[i].isTensor() && has_python(stack[i].toTensor())) {
      return true;
    }
    if (stack[i].isTensorList()) {
      for (const at::Tensor& tensor : stack[i].toTensorVector()) {
        if (has_python(tensor)) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

bool TorchOp::dispatch(const Layout& layout, torch::jit::Stack* stack) const {
  const DispatchWindow window(&schema_, layout.schema_version, is_watched(layout, *stack));
  if (!window.fits()) {
    return false;
  }
  handle().callBoxed(stack);
  return true;
}

void TorchOp::dispatch_or_throw(const Layout& layout, torch::jit::Stack* stack) const {
  if (!dispatch(layout, stack)) {
    refuse_redefined();
  }
}

void TorchOp::refuse_redefined() const {
  throw Error("OpRuntimeError", "op " + in_quotes(name()) +
                                    " was redefined with other arguments during this call\n"
                                    "  call it again");
}

}  // namespace oneop
