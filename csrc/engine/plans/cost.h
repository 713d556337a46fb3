// cost.h: how many arithmetic operations a call takes, as its op counts them.
#pragma once

#include "engine/ops/frame.h"
#include "engine/ops/registry.h"

namespace oneop {

// Infers the outputs, then asks the op's own function. Throws what either of them reports,
// OpNotImplementedError for an op without such a function, and CheckError for an answer that is
// infinite, no number, or negative.
double count_operations(const OpRecord& record, const CallSpec& spec);

}  // namespace oneop
