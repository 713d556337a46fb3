// job_module.h: planned jobs as Python sees them.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace oneop {

void bind_jobs(pybind11::module_& m);

}  // namespace oneop
