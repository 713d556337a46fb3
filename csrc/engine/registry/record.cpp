// record.cpp: making, publishing and retiring records.
#include "engine/registry/record.h"

namespace oneop {
namespace {

class SpinGuard {
 public:
  explicit SpinGuard(std::atomic_flag* flag) : flag_(flag) {
    while (flag_->test_and_set(std::memory_order_acquire)) {
    }
  }
  ~SpinGuard() { flag_->clear(std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;
  SpinGuard& operator=(const SpinGuard&) = delete;

 private:
  std::atomic_flag* flag_;
};

}  // namespace

OpRecord::OpRecord(std::shared_ptr<const OpDef> op_def)
    : op(std::move(op_def)),
      plans(std::make_unique<PlanCache>()),
      kernels_made(std::make_unique<KernelCache>()),
      grad_plans(std::make_unique<GradCache>()) {}
OpRecord::~OpRecord() = default;

void OpRecord::drop_plans() const {
  plans->close();
  kernels_made->close();
  grad_plans->close();
}

RecordPtr OpSlot::record() const {
  SpinGuard guard(&lock_);
  return record_;
}

RecordPtr OpSlot::exchange(RecordPtr next) {
  SpinGuard guard(&lock_);
  address_.store(next.get(), std::memory_order_release);
  record_.swap(next);
  return next;
}

}  // namespace oneop
