// python_error.h: core errors as Python exceptions.
#pragma once

#include "engine/ops/error.h"

namespace oneop {

// Throws what torch turns back into the Python exception wherever C++ ends: in a call, in backward,
// in a thread.
[[noreturn]] void throw_python_error(const Error& error);

// After a Python exception was caught in C++: torch's engine leaves it set as the current one.
void forget_python_error();

// Sets it as the current Python error; the GIL must be held.
void set_python_error(const Error& error);

}  // namespace oneop
