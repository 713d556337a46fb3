// cost.h: what an op says of a call beside its outputs: how many arithmetic operations it takes,
// and along which axis a batch lies.
#pragma once

#include "engine/frames/frame.h"
#include "engine/registry/registry.h"

namespace oneop {

// Infers the outputs, then asks the op's own function. Throws what either of them reports,
// OpNotImplementedError for an op without such a function, and CheckError for an answer that is
// infinite, no number, or negative.
double count_operations(const OpRecord& record, const CallSpec& spec);

// The axis along which a batch lies in each output, -1: there is none, from those of the inputs.
// Asks the op's own function; without one, all outputs are like the first input that has an axis.
// Throws what inference and that function report, and CheckError for an axis that an output lacks.
std::vector<int64_t> infer_batch_axes(const OpRecord& record, const CallSpec& spec,
                                      std::vector<int64_t> axes);

}  // namespace oneop
