// kernel_run.h: binds KernelRun.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace oneop {

void bind_kernel_run(pybind11::module_& m);

}  // namespace oneop
