// plugin.h: loading op libraries.
#pragma once

#include <string>

#include "engine/ops/defs.h"

namespace oneop {

// Opens a shared library, shakes hands and reads what it describes. `library` names it in the
// registry: a library of the same name replaces an earlier one. With a `package`, the library's own
// ops get its name in front, also where the library's kernels and gradients speak of them. Throws
// LoadError or AbiError; nothing is registered yet.
LibraryDefs read_library(const std::string& path, const std::string& library,
                         const std::string& package = "");

}  // namespace oneop
