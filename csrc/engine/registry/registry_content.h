// registry_content.h: what is registered, and how a library changes it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/ops/defs.h"

namespace oneop {

struct RegistryContent {
  std::map<std::string, std::shared_ptr<const OpDef>> ops;
  std::map<std::string, std::vector<std::shared_ptr<const KernelDef>>> kernels;
  std::map<std::string, std::shared_ptr<const GradDef>> grads;
  std::map<std::string, std::shared_ptr<const ForwardDef>> forwards;
};

// Adds what a library says; what an earlier library of the same name said of the same ops is
// replaced. Returns the names of the ops that it speaks of. Throws DuplicateOpError or
// RegistrationError; the content is of no use then.
std::set<std::string> add_library(const LibraryDefs& defs, RegistryContent* content);

// The names under which two contents have other definitions; a definition never changes.
std::set<std::string> list_differences(const RegistryContent& before, const RegistryContent& after);

}  // namespace oneop
