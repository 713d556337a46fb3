// sbp.h: the SBP signatures an op declares.
#pragma once

#include <vector>

#include "frame.h"
#include "registry.h"

namespace oneop {

using SbpSignature = std::vector<oneop_sbp>;  // one entry for each tensor: inputs, then outputs

// What the author's function adds for these inputs, in order, then all-broadcast. Each is checked:
// every tensor has an entry, and a split axis exists.
std::vector<SbpSignature> sbp_signatures(const OpRecord& record, const CallSpec& spec);

}  // namespace oneop
