// op_info.h: what is known of an op, as Python sees it.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace oneop {

void bind_op_info(pybind11::module_& m);

}  // namespace oneop
