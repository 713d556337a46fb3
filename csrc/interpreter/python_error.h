// python_error.h: errors of the engine and of hosts as Python exceptions.
#pragma once

#include "engine/ops/error.h"

namespace oneop {

// Sets it as the current Python error; the GIL must be held.
void set_python_error(const Error& error);

}  // namespace oneop
