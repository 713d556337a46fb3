// match.h: which kernel runs a call.
#pragma once

#include <memory>

#include "engine/ops/record.h"

namespace oneop {

// The kernel for this frame: predicate, what is required (requirement.h), then priority. None or a
// tie throws with every candidate.
std::shared_ptr<const KernelDef> choose_kernel(const OpRecord& record, Frame* frame,
                                               uint32_t required);

}  // namespace oneop
