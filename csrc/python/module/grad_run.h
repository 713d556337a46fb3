// grad_run.h: running one gradient of an op on tensors of the caller's.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace oneop {

void bind_grad_run(pybind11::module_& m);

}  // namespace oneop
