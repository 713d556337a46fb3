// differentiate.h: the gradient of one call, as steps.
#pragma once

#include <vector>

#include "engine/plans/grad_plan.h"
#include "engine/registry/record.h"

namespace oneop {

// `needs_grad` has a flag for each input tensor; one that cannot have a gradient counts as 0.
// Empty: all that can. Throws GradientNotFoundError where the op has none, and says what callers
// without one do: `advice` goes into its text.
GradPlan differentiate(const OpRecord& record, const CallSpec& spec,
                       std::vector<uint8_t> needs_grad, const std::string& advice);

// Whether tensors of this dtype can have a gradient.
bool is_differentiable(int32_t dtype);

}  // namespace oneop
