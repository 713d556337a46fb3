// functional.h: oneop._C.<name>, functions of libraries as Python calls them.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

namespace oneop {

// Who calls a function as an op, when it has drawn random numbers while it was traced.
void set_random_call(PyObject* function);

// Calls a function that gets these numbers where it draws from a random generator. Returns (what it
// returned, how many numbers it drew, the generator or None for the default one, whether there were
// several). Null, with a Python error set, if it fails.
PyObject* replay_function(PyObject* function, std::vector<uint64_t> draws, PyObject* args,
                          PyObject* kwargs);

// A callable for the function of this name. Throws OpNotFoundError.
PyObject* make_function(const std::string& name);

}  // namespace oneop
