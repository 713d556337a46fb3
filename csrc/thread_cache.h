// thread_cache.h: what a thread remembers of its last calls, so that a repeated one takes no lock.
#pragma once

#include <array>
#include <memory>

#include "gradient.h"
#include "plan.h"

namespace oneop {

struct BoundGradPlan;  // autograd_node.h

// The last call of an op on this thread.
struct LastCall {
  const OpRecord* record = nullptr;
  PlanKey key;
  std::shared_ptr<const CallPlan> plan;
  // The gradient that a call with this key last recorded, and for which inputs. Null: not known.
  std::shared_ptr<const BoundGradPlan> grad;
  std::vector<uint8_t> needs;
};

// The same for gradients alone, whose key often has no shapes.
struct LastGrad {
  const OpRecord* record = nullptr;
  PlanKey key;
  std::shared_ptr<const BoundGradPlan> plan;
};

struct ThreadCache {
  static constexpr size_t kOps = 64;  // ops share a place modulo this
  std::array<LastCall, kOps> calls;
  std::array<LastGrad, kOps> grads;
  PlanKey keys[2];  // buffers
  // That this thread holds the GIL, where that is known: to ask Python costs more.
  bool holds_gil = false;
  // The function call that is running was stopped for a draw; see oneop/_random_calls.py.
  bool stopped_for_draw = false;

  LastCall& call(int32_t op_id) { return calls[op_id % kOps]; }
  LastGrad& grad(int32_t op_id) { return grads[op_id % kOps]; }
  PlanKey& key(int which) {
    keys[which].clear();
    return keys[which];
  }
};

ThreadCache& thread_cache();

}  // namespace oneop
