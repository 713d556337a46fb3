// record.h: everything that is known of one op, and the place where its name keeps it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/frames/kernel_instance.h"
#include "engine/ops/defs.h"
#include "engine/ops/keyed_cache.h"

namespace oneop {

class CallPlan;   // plans/plan.h
struct GradPlan;  // plans/gradient.h
struct Layout;    // the host's

using PlanCache = KeyedCache<CallPlan>;

struct GradCache : KeyedCache<GradPlan> {
  // Whether the generator has been seen to look at shapes. Until then its plans serve all shapes.
  std::atomic<bool> reads_shapes{false};
};

// Everything known of one op at one time, as one immutable object: a registration makes a new
// record and publishes it by one pointer, so a call never sees half of two definitions. A call
// holds the record that it started with; the last holder frees it.
struct OpRecord : std::enable_shared_from_this<OpRecord> {
  explicit OpRecord(std::shared_ptr<const OpDef> op_def);
  ~OpRecord();
  std::shared_ptr<const OpDef> op;
  std::vector<std::shared_ptr<const KernelDef>> kernels;  // in the order of registration
  std::shared_ptr<const GradDef> grad;
  std::shared_ptr<const ForwardDef> forward;
  std::shared_ptr<const Layout> layout;  // set before publication, by the host
  std::unique_ptr<PlanCache> plans;
  std::unique_ptr<KernelCache> kernels_made;
  std::unique_ptr<GradCache> grad_plans;

  // For a record that was replaced. Plans hold their record, so without this neither would be
  // freed.
  void drop_plans() const;
};

using RecordPtr = std::shared_ptr<const OpRecord>;

// The place of one op name. It is never destroyed; its record changes.
class OpSlot {
 public:
  OpSlot(std::string op_name, int32_t op_id) : name(std::move(op_name)), id(op_id) {}
  const std::string name;
  const int32_t id;

  RecordPtr record() const;  // null: not registered, or not any more
  // For comparing only: nothing keeps the record alive.
  const OpRecord* address() const { return address_.load(std::memory_order_acquire); }
  RecordPtr exchange(RecordPtr next);  // returns the previous record

 private:
  // Guards `record_` for the few instructions of a copy. Nothing is destroyed under it.
  mutable std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  RecordPtr record_;
  std::atomic<const OpRecord*> address_{nullptr};
};

}  // namespace oneop
