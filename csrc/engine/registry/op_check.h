// op_check.h: whether one definition, kernel or gradient makes sense by itself.
#pragma once

#include "engine/ops/defs.h"

namespace oneop {

// Checks one op, and reads from its callbacks which arguments it changes. Throws RegistrationError.
// Runs the author's code, so it is called before any lock is taken.
void check_op(OpDef* op);

// Each throws RegistrationError; neither runs the author's code.
void check_kernel(const KernelDef& kernel);
void check_grad(const GradDef& grad);

}  // namespace oneop
