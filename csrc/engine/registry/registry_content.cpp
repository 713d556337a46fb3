// registry_content.cpp: a library's definitions in the place of its earlier ones.
#include "engine/registry/registry_content.h"

#include <algorithm>

#include "engine/ops/error.h"
#include "engine/registry/op_check.h"

namespace oneop {
namespace {

// Drops what the library said before of the ops that it speaks of again, and notes their names.
void drop_old(const LibraryDefs& defs, RegistryContent* next, std::set<std::string>* touched) {
  const auto is_old = [&](const Source& source) { return source.library == defs.library; };
  std::set<std::string> kernels_again;
  for (const auto& kernel : defs.kernels) {
    kernels_again.insert(kernel->op_type_name);
  }
  for (const auto& op : defs.ops) {
    kernels_again.insert(op->name);
  }
  for (const std::string& name : kernels_again) {
    auto& kernels = next->kernels[name];
    kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                 [&](const auto& kernel) { return is_old(kernel->source); }),
                  kernels.end());
    const auto grad = next->grads.find(name);
    if (grad != next->grads.end() && is_old(grad->second->source)) {
      next->grads.erase(grad);
    }
    const auto forward = next->forwards.find(name);
    if (forward != next->forwards.end() && is_old(forward->second->source)) {
      next->forwards.erase(forward);
    }
    touched->insert(name);
  }
}

// Adds the library's ops. Throws DuplicateOpError for one that another library has.
void add_ops(const LibraryDefs& defs, RegistryContent* next) {
  std::set<std::string> named;
  for (const auto& op : defs.ops) {
    const auto old = next->ops.find(op->name);
    if (!named.insert(op->name).second ||
        (old != next->ops.end() && old->second->source.library != defs.library)) {
      throw Error("DuplicateOpError",
                  "op " + in_quotes(op->name) + " is registered twice\n  first:  " +
                      next->ops[op->name]->source.text() + "\n  second: " + op->source.text() +
                      "\n  op names are global: rename one of them");
    }
    next->ops[op->name] = op;
  }
}

// Adds gradients and forward-mode rules. Throws RegistrationError for a second one of an op.
void add_derivatives(const LibraryDefs& defs, RegistryContent* next,
                     std::set<std::string>* touched) {
  const auto is_old = [&](const Source& source) { return source.library == defs.library; };
  std::set<std::string> graded;
  for (const auto& grad : defs.grads) {
    check_grad(*grad);
    const auto old = next->grads.find(grad->op_type_name);
    if (!graded.insert(grad->op_type_name).second ||
        (old != next->grads.end() && !is_old(old->second->source))) {
      throw Error("RegistrationError", "op " + in_quotes(grad->op_type_name) +
                                           " has two gradients\n  first:  " +
                                           next->grads[grad->op_type_name]->source.text() +
                                           "\n  second: " + grad->source.text());
    }
    next->grads[grad->op_type_name] = grad;
    touched->insert(grad->op_type_name);
  }
  for (const auto& forward : defs.forwards) {
    const auto old = next->forwards.find(forward->op_type_name);
    if (old != next->forwards.end() && !is_old(old->second->source)) {
      throw Error("RegistrationError",
                  "op " + in_quotes(forward->op_type_name) +
                      " has two rules for forward-mode differentiation\n  first:  " +
                      old->second->source.text() + "\n  second: " + forward->source.text());
    }
    next->forwards[forward->op_type_name] = forward;
    touched->insert(forward->op_type_name);
  }
}

// Adds the names under which two maps have other definitions.
template <class Map>
void add_differences(const Map& before, const Map& after, std::set<std::string>* names) {
  const auto add_missing = [names](const Map& map, const Map& other) {
    for (const auto& entry : map) {
      const auto match = other.find(entry.first);
      if (match == other.end() || match->second != entry.second) {
        names->insert(entry.first);
      }
    }
  };
  add_missing(before, after);
  add_missing(after, before);
}

}  // namespace

std::set<std::string> add_library(const LibraryDefs& defs, RegistryContent* content) {
  std::set<std::string> touched;
  // What the library says again replaces what it said before.
  drop_old(defs, content, &touched);
  add_ops(defs, content);
  for (const auto& kernel : defs.kernels) {
    check_kernel(*kernel);
    content->kernels[kernel->op_type_name].push_back(kernel);
    touched.insert(kernel->op_type_name);
  }
  add_derivatives(defs, content, &touched);
  return touched;
}

std::set<std::string> list_differences(const RegistryContent& before,
                                       const RegistryContent& after) {
  std::set<std::string> names;
  add_differences(before.ops, after.ops, &names);
  add_differences(before.kernels, after.kernels, &names);
  add_differences(before.grads, after.grads, &names);
  add_differences(before.forwards, after.forwards, &names);
  return names;
}

}  // namespace oneop
