// schema_hook.h: telling Python that ops have other schemas, before any thread calls them again.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

namespace oneop {

// Has `hook(names)` called for ops whose arguments changed. The GIL is held; set once.
void set_schema_hook(PyObject* hook);

// Calls the hook. Takes the GIL. What the hook raises is reported and goes no further: the ops are
// registered by then.
void tell_schemas(const std::vector<std::string>& names);

}  // namespace oneop
