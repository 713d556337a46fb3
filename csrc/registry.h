// registry.h: the three registries (ops, kernels, gradients), joined into one immutable record for
// each op.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "defs.h"

namespace oneop {

class PlanCache;  // plan.h
class GradCache;  // gradient.h

// Everything known of one op at one time. A registration makes a new record; old ones stay valid
// for those who use them.
struct OpRecord {
  explicit OpRecord(std::shared_ptr<const OpDef> op_def);
  ~OpRecord();
  std::shared_ptr<const OpDef> op;
  std::vector<std::shared_ptr<const KernelDef>> kernels;  // in the order of registration
  std::shared_ptr<const GradDef> grad;
  std::shared_ptr<const ForwardDef> forward;
  std::unique_ptr<PlanCache> plans;
  std::unique_ptr<GradCache> grad_plans;
};

// The place of one op name. It lives for ever; its record changes.
struct OpSlot {
  std::string name;
  int32_t id = 0;
  std::atomic<const OpRecord*> record{nullptr};  // null: not registered (any more)
};

class Registry {
 public:
  static Registry& global();

  // Adds all of a library or, if anything in it is wrong, nothing. What an earlier library of the
  // same name registered for the same ops is replaced. Returns the slots whose op definition is new
  // or changed.
  std::vector<OpSlot*> add(const LibraryDefs& defs);

  const OpRecord& get(const std::string& name) const;  // throws OpNotFoundError
  OpSlot* find_slot(const std::string& name) const;    // null if unknown
  std::vector<std::string> op_names() const;
  // Another number after each change of any record; cheap enough to ask at every call.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // Kernels and gradients whose op is not registered.
  std::vector<std::string> pending() const;

  // For tests: the whole content, and putting it back.
  struct Snapshot;
  std::shared_ptr<const Snapshot> snapshot() const;
  std::vector<OpSlot*> restore(const Snapshot& snapshot);

  struct Snapshot {
    std::map<std::string, std::shared_ptr<const OpDef>> ops;
    std::map<std::string, std::vector<std::shared_ptr<const KernelDef>>> kernels;
    std::map<std::string, std::shared_ptr<const GradDef>> grads;
    std::map<std::string, std::shared_ptr<const ForwardDef>> forwards;
  };

 private:
  OpSlot* slot_of(const std::string& name);
  void publish(const std::string& name);

  mutable std::mutex mutex_;
  std::atomic<uint64_t> epoch_{0};
  Snapshot content_;
  std::map<std::string, std::unique_ptr<OpSlot>> slots_;
  // Records are never freed: a call that started before a registration may still use an old one.
  std::vector<std::unique_ptr<OpRecord>> records_;
};

}  // namespace oneop
