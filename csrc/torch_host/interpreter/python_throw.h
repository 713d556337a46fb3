// python_throw.h: core errors as exceptions that torch carries.
#pragma once

#include <string>

#include "engine/ops/error.h"

namespace oneop {

// Throws what torch turns back into the Python exception wherever C++ ends: in a call, in backward,
// in a thread.
[[noreturn]] void throw_python_error(const Error& error);

// Warns in Python; throws where warnings are errors.
void warn_python(const std::string& text);

// After a Python exception was caught in C++: torch's engine leaves it set as the current one.
void forget_python_error();

}  // namespace oneop
