// gradient.h: making the backward graph of one op, as its generator describes it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/plans/grad_plan.h"

namespace oneop {

// The plan of a call without differentiable outputs: nothing to do.
GradPlan no_grad_plan(const GradDef& grad, const Frame& frame);

// Runs the generator. `needs_grad` and `has_grad` have one flag for each forward input and output
// tensor.
GradPlan make_grad_plan(const GradDef& grad, Frame* frame, const std::vector<uint8_t>& needs_grad,
                        const std::vector<uint8_t>& has_grad);

}  // namespace oneop
