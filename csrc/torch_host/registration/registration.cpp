// registration.cpp: one change of the registries, of torch's ops and of the functions.
#include "torch_host/registration/registration.h"

#include <memory>
#include <mutex>
#include <unordered_set>

#include "engine/ops/functions.h"
#include "engine/registry/op_check.h"
#include "torch_host/interpreter/schema_hook.h"
#include "torch_host/registration/redefinition.h"

namespace oneop {
namespace {

// One registration at a time. It is taken before every other lock of the core and never with the
// GIL held, so that its holder may take the GIL and may have torch define ops.
std::mutex& registration_mutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

// Defines the ops in torch, then makes everything visible. Before commit() nothing is; if torch
// refuses an op, those before it are undone. Afterwards `change` holds what was replaced.
Registered carry_out(Registry::Change* change, Functions::Change* functions) {
  const std::unordered_set<const OpSlot*> defined(change->defined.begin(), change->defined.end());
  std::vector<std::unique_ptr<Redefinition>> redefinitions;
  for (auto& [slot, record] : change->records) {
    if (record == nullptr) {
      continue;
    }
    if (defined.count(slot) != 0) {
      redefinitions.push_back(std::make_unique<Redefinition>(slot, record.get()));
    } else {  // other kernels or another gradient of the same op
      record->layout = slot->record()->layout;
    }
  }
  Registered done;
  for (const OpSlot* slot : change->defined) {
    done.ops.push_back(slot->name);
  }
  for (const auto& redefinition : redefinitions) {
    if (redefinition->changed_arguments()) {
      done.changed.push_back(redefinition->name());
    }
  }
  Registry::global().commit(change);
  if (functions != nullptr) {
    Functions::global().commit(functions);
  }
  tell_schemas(done.changed);  // calls of these ops wait until the next lines
  for (const auto& redefinition : redefinitions) {
    redefinition->commit();
  }
  return done;
}

// With no lock held: this runs destructors of the authors' objects, some of which take the GIL.
void drop_replaced(Registry::Change change) {
  for (const auto& [slot, record] : change.records) {
    if (record != nullptr) {
      record->drop_plans();
    }
  }
}

}  // namespace

Registered register_library(const LibraryDefs& defs) {
  for (const auto& op : defs.ops) {
    check_op(op.get());
  }
  Registry::Change change;
  Functions::Change functions;
  Registered done;
  {
    std::lock_guard<std::mutex> lock(registration_mutex());
    change = Registry::global().prepare(defs);
    functions = Functions::global().prepare(defs.library, defs.functions);
    done = carry_out(&change, &functions);
  }
  drop_replaced(std::move(change));
  return done;
}

Registered restore_registry(const Registry::Snapshot& content) {
  Registry::Change change;
  Registered done;
  {
    std::lock_guard<std::mutex> lock(registration_mutex());
    change = Registry::global().prepare(content);
    done = carry_out(&change, nullptr);
  }
  drop_replaced(std::move(change));
  return done;
}

}  // namespace oneop
