// bounds_module.h: the part of the module for sizes that depend on data.
#pragma once

#include <pybind11/pybind11.h>

namespace oneop {

void bind_bounds(pybind11::module_& m);

}  // namespace oneop
