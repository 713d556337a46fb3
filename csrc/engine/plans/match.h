// match.h: which kernel runs a call.
#pragma once

#include <memory>
#include <string>

#include "engine/registry/record.h"

namespace oneop {

// Why the kernel may not run, as the end of "it ..."; empty: it gives what is required (host.h).
std::string requirement_missed(const KernelDef& kernel, uint32_t required);

// The kernel for this frame: predicate, what is required, then priority. None or a
// tie throws with every candidate.
std::shared_ptr<const KernelDef> choose_kernel(const OpRecord& record, Frame* frame,
                                               uint32_t required);

}  // namespace oneop
