// kernel_instance.cpp: making, sharing and destroying kernel objects.
#include "engine/frames/kernel_instance.h"

#include "engine/ops/error.h"

namespace oneop {

std::string kernel_text(const KernelDef& kernel) {
  return "op " + in_quotes(kernel.op_type_name) + ", kernel at " + kernel.source.text();
}

KernelInstance::KernelInstance(std::shared_ptr<const KernelDef> def, Frame* frame)
    : def_(std::move(def)) {
  const oneop_kernel_def& abi = def_->abi;
  Status status;
  status.check(abi.create(abi.self, frame->abi(), &kernel_, status.abi()), kernel_text(*def_));
  if (kernel_ == nullptr) {
    throw Error("RegistrationError", kernel_text(*def_) + ": its create function gave no kernel");
  }
  always_compute_ = abi.always_compute == nullptr || abi.always_compute(kernel_) != 0;
  if (abi.create_state == nullptr) {
    return;
  }
  const int32_t code = abi.create_state(kernel_, frame->abi(), &state_, status.abi());
  if (code != ONEOP_OK || status.failed()) {
    destroy();  // a constructor that throws has no destructor
    status.check(code, kernel_text(*def_));
  }
}

KernelInstance::~KernelInstance() { destroy(); }

void KernelInstance::begin_turn() {
  const std::thread::id self = std::this_thread::get_id();
  if (turn_of_.load(std::memory_order_relaxed) == self) {
    throw Error("OpRuntimeError",
                kernel_text(*def_) +
                    ": the kernel called its own op, and its state is in use\n"
                    "  call another op, or one with other attributes, from the kernel");
  }
  state_mutex_.lock();
  turn_of_.store(self, std::memory_order_relaxed);
}

void KernelInstance::end_turn() {
  turn_of_.store({}, std::memory_order_relaxed);
  state_mutex_.unlock();
}

void KernelInstance::destroy() {
  if (state_ != nullptr && def_->abi.destroy_state != nullptr) {
    def_->abi.destroy_state(state_);
  }
  if (kernel_ != nullptr && def_->abi.destroy != nullptr) {
    def_->abi.destroy(kernel_);
  }
}

std::shared_ptr<KernelInstance> KernelCache::get(std::shared_ptr<const KernelDef> kernel,
                                                 Frame* frame, const CallSpec& spec,
                                                 const Part* part) {
  PlanKey key{reinterpret_cast<int64_t>(kernel.get()), spec.device_type, spec.device_index};
  for (const AttrValue& attr : spec.attrs) {
    attr.append_key(&key);
  }
  if (part != nullptr) {
    key.insert(key.end(), part->words().begin(), part->words().end());
  }
  const auto known = [&]() -> std::shared_ptr<KernelInstance> {
    for (const Instances* instances : {&stateful_, &stateless_}) {
      if (const auto found = instances->find(key); found != instances->end()) {
        return found->second;
      }
    }
    return nullptr;
  };
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = known()) {
      return found;
    }
  }
  // Two threads may both come here. The first to insert wins, so that all calls share one state.
  auto made = std::make_shared<KernelInstance>(std::move(kernel), frame);
  std::shared_ptr<KernelInstance> spare;  // these two are destroyed after the lock is released
  Instances dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto found = known()) {
    spare = std::move(made);
    return found;
  }
  if (is_closed_) {
    return made;
  }
  if (made->has_state()) {
    stateful_[key] = made;
    return made;
  }
  if (stateless_.size() >= kCacheLimit) {
    dropped.swap(stateless_);
  }
  stateless_[key] = made;
  return made;
}

void KernelCache::close() {
  Instances stateless;  // destroyed after the lock is released
  Instances stateful;
  std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  stateless.swap(stateless_);
  stateful.swap(stateful_);
}

}  // namespace oneop
