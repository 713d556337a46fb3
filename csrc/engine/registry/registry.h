// registry.h: the three registries (ops, kernels, gradients), and the change from one state of them
// to the next.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/registry/record.h"
#include "engine/registry/registry_content.h"

namespace oneop {

class Registry {
 public:
  static Registry& global();

  using Snapshot = RegistryContent;

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

  RecordPtr get(const std::string& name) const;  // throws OpNotFoundError
  // The whole name of an op that may be given without its package: where no op has this very name,
  // the one of the only package that has it; `package` is asked first. The name itself if there is
  // none. Throws OpNotFoundError if several packages have it.
  std::string resolve(const std::string& name, const std::string& package = "") const;
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

}  // namespace oneop
