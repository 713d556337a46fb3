// registry.h: the three registries (ops, kernels, gradients), joined into one immutable record for
// each op.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "defs.h"

namespace oneop {

class PlanCache;  // plan.h
class GradCache;  // gradient.h
struct Layout;    // torch_op.h

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
  std::shared_ptr<const Layout> layout;  // set before publication, by torch_op.cpp
  std::unique_ptr<PlanCache> plans;
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

  // Torch has seen what the op is like: compiled code may hold parts of its definition.
  mutable std::atomic<bool> is_traced{false};

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

class Registry {
 public:
  static Registry& global();

  struct Snapshot {
    std::map<std::string, std::shared_ptr<const OpDef>> ops;
    std::map<std::string, std::vector<std::shared_ptr<const KernelDef>>> kernels;
    std::map<std::string, std::shared_ptr<const GradDef>> grads;
    std::map<std::string, std::shared_ptr<const ForwardDef>> forwards;
  };

  // The next state of the registry, checked and not yet visible.
  struct Change {
    Snapshot content;
    std::vector<std::pair<OpSlot*, std::shared_ptr<OpRecord>>> records;  // null: the op is removed
    std::vector<OpSlot*> defined;  // whose op definition is new or changed
  };

  // What the registry is after a library was added. What an earlier library of the same name
  // registered for the same ops is replaced. Throws if anything in the library is wrong.
  Change prepare(const LibraryDefs& defs);
  Change prepare(const Snapshot& content);
  // Makes the change visible, and leaves in it what was replaced, to be destroyed without a lock.
  void commit(Change* change) noexcept;

  RecordPtr get(const std::string& name) const;      // throws OpNotFoundError
  OpSlot* find_slot(const std::string& name) const;  // null if unknown
  std::vector<std::string> op_names() const;
  // Another number after each change of any record; cheap enough to ask at every call.
  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // Kernels and gradients whose op is not registered.
  std::vector<std::string> pending() const;
  // The whole content, for tests.
  std::shared_ptr<const Snapshot> snapshot() const;

 private:
  OpSlot* slot_of(const std::string& name);
  void add_record(const std::string& name, Change* change);

  // A leaf lock: no callback, no destructor of a user's object, no GIL while it is held.
  mutable std::mutex mutex_;
  std::atomic<uint64_t> epoch_{0};
  Snapshot content_;
  std::map<std::string, std::unique_ptr<OpSlot>> slots_;
};

// Checks one op by itself, and reads from its callbacks which arguments it changes. Throws
// RegistrationError. Runs the author's code, so it is called before any lock is taken.
void check_op(OpDef* op);

}  // namespace oneop
