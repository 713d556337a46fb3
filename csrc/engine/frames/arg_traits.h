// arg_traits.h: which arguments an op changes, and which take part in gradients.
#pragma once

#include "engine/ops/defs.h"

namespace oneop {

// Asks the op which of its arguments are mutable and differentiable. Runs the author's code.
void read_arg_traits(OpDef* op);

}  // namespace oneop
