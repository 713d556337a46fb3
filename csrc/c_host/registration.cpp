// registration.cpp: see registration.h.
#include "c_host/registration.h"

#include <mutex>

#include "engine/ops/functions.h"
#include "engine/ops/plugin.h"
#include "engine/registry/op_check.h"
#include "engine/registry/registry.h"

namespace oneop {
namespace {

// One registration at a time, taken before the registry's own lock.
std::mutex& registration_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

}  // namespace

std::vector<std::string> register_file(const std::string& path, const std::string& library,
                                       const std::string& package) {
  const LibraryDefs defs = read_library(path, library, package);
  for (const auto& op : defs.ops) {
    check_op(op.get());
  }
  Registry::Change change;
  Functions::Change functions;
  std::vector<std::string> names;
  {
    const std::lock_guard<std::mutex> lock(registration_mutex());
    change = Registry::global().prepare(defs);
    functions = Functions::global().prepare(defs.library, defs.functions);
    for (const OpSlot* slot : change.defined) {
      names.push_back(slot->name);
    }
    Registry::global().commit(&change);
    Functions::global().commit(&functions);
  }
  // With no lock held: this runs destructors of the authors' objects.
  for (const auto& [slot, record] : change.records) {
    if (record != nullptr) {
      record->drop_plans();
    }
  }
  return names;
}

}  // namespace oneop
