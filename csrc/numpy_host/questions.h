// questions.h: what Python asks of an op: its definition, what a call gives, its gradient, its
// signatures.
#pragma once

#include "engine/plans/sbp.h"
#include "engine/registry/registry.h"
#include "interpreter/ref.h"

namespace oneop {

Ref describe_op(const OpRecord& record);
Ref inferred(const RecordPtr& record, const CallSpec& spec);
// The steps of a gradient, see oneop/hosts/gradients.py. `needs` is a list of flags.
Ref gradient_of(const OpRecord& record, const CallSpec& spec, PyObject* needs);
// Lists of (kind, axis) for each tensor, as sbp_signatures gives them.
Ref signatures_of(const OpRecord& record, const CallSpec& spec, int32_t parallel_num);

}  // namespace oneop
