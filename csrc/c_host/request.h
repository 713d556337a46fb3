// request.h: a call as a C program describes it, as the engine's CallSpec.
#pragma once

#include "engine/frames/frame.h"
#include "oneop/runtime.h"

namespace oneop {

// Refuses a call that was worked out for an older definition of the op, with other inputs or
// outputs. `kind`: which of them.
void check_is_current(const OpDef& op, const char* kind, size_t made_for, size_t wanted);

// Defaults are filled in and counts checked. Throws ArgumentError.
CallSpec spec_of(const OpDef& op, const oneop_request& request);
// The same with attributes as `values`.
CallSpec spec_of(const OpDef& op, const oneop_request& request, std::vector<AttrValue> values);

// As few tensors as each output may have.
std::vector<int32_t> least_outputs(const OpDef& op);

}  // namespace oneop
