// questions.h: what is asked of an op about a call that is not made.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace oneop {

void bind_questions(pybind11::module_& m);

}  // namespace oneop
