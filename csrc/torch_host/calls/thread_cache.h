// thread_cache.h: what a thread remembers of its last calls, so that a repeated one takes no lock.
#pragma once

#include <array>
#include <memory>

#include "engine/plans/plan.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

struct Backward;  // autograd/op_node.h

// The last call of an op on this thread. The plan holds its record, so the address of that record
// belongs to no other while it stands here.
struct LastCall {
  PlanKey key;
  std::shared_ptr<const CallPlan> plan;
  // The gradient that a call with this key last recorded, and for which inputs. Null: not known.
  std::shared_ptr<const Backward> grad;
  std::vector<uint8_t> needs;
  // The plan for this key, while the direct call that took it out of `plan` runs.
  const CallPlan* taken = nullptr;

  std::shared_ptr<const CallPlan> take_plan() {
    taken = plan.get();
    return std::move(plan);
  }
  // Not where another call stands here by now: one that ran meanwhile, on this thread too.
  void give_back(std::shared_ptr<const CallPlan>* own) {
    if (plan == nullptr && taken == own->get()) {
      plan = std::move(*own);
    }
  }
};

// The same for gradients alone, whose key often has no shapes.
struct LastGrad {
  RecordPtr record;
  PlanKey key;
  std::shared_ptr<const Backward> plan;
};

struct ThreadCache {
  static constexpr size_t kOps = 64;  // ops share a place modulo this
  std::array<LastCall, kOps> calls;
  std::array<LastGrad, kOps> grads;
  // Buffers. Between taking one and comparing it nothing runs that could call an op: no Python, no
  // callback of an author.
  PlanKey keys[2];
  // That this thread holds the GIL, where that is known: to ask Python costs more.
  bool holds_gil = false;
  // The function call that is running was stopped for a draw; see oneop/runtime/random_calls.py.
  bool stopped_for_draw = false;

  LastCall& call(int32_t op_id) { return calls[op_id % kOps]; }
  LastGrad& grad(int32_t op_id) { return grads[op_id % kOps]; }
  PlanKey& key(int which) {
    keys[which].clear();
    return keys[which];
  }
};

ThreadCache& thread_cache();

// The record of an op for one call. It is borrowed from this thread's last call of the op if that
// was on the same record, which costs no reference count. A borrowed one is valid until this thread
// may run another op: hold() it before that.
class CallRecord {
 public:
  explicit CallRecord(const TorchOp& op) {
    const std::shared_ptr<const CallPlan>& last = thread_cache().call(op.id()).plan;
    if (last != nullptr && &last->record() == op.current()) {
      record_ = &last->record();
    } else {
      held_ = op.record();
      record_ = held_.get();
    }
  }
  const OpRecord& operator*() const { return *record_; }
  const OpRecord* operator->() const { return record_; }
  const Layout& layout() const { return *record_->layout; }
  void hold() {
    if (held_ == nullptr) {
      held_ = record_->shared_from_this();
    }
  }

 private:
  const OpRecord* record_;
  RecordPtr held_;
};

}  // namespace oneop
