// registration.h: adding definitions to the registries and to torch: all of them, or none.
#pragma once

#include <string>
#include <vector>

#include "engine/registry/registry.h"

namespace oneop {

struct Registered {
  std::vector<std::string> ops;      // that were defined
  std::vector<std::string> changed;  // whose arguments changed
};

// Adds what a library, or Python, defines. Throws RegistrationError or DuplicateOpError, and then
// neither a registry nor torch has changed. The caller must not hold the GIL.
Registered register_library(const LibraryDefs& defs);

// Puts the op registries back as they were. For tests.
Registered restore_registry(const Registry::Snapshot& content);

}  // namespace oneop
