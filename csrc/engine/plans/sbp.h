// sbp.h: the SBP signatures an op declares, and how it infers the part that one device has.
#pragma once

#include <utility>
#include <vector>

#include "engine/frames/frame.h"
#include "engine/registry/registry.h"

namespace oneop {

using SbpSignature = std::vector<oneop_sbp>;  // one entry for each tensor: inputs, then outputs

struct SbpAnswer {
  std::vector<SbpSignature> signatures;
  oneop_reads reads;  // what inference and the author's function looked at
};

// What the author's function adds for these inputs, in order, then all-broadcast. Each is checked:
// every tensor has an entry, and a split axis exists.
SbpAnswer sbp_signatures(const OpRecord& record, const CallSpec& spec, int32_t parallel_num);

// A tensor as all devices together have it.
using LogicalTensor = std::pair<std::vector<int64_t>, int32_t>;  // shape and dtype

// A call as it is spread over a mesh of devices.
struct Spread {
  std::vector<oneop_sbp> sbp;  // `dims` entries for each tensor
  int32_t dims = 1;
  int32_t parallel_num = 1;
  int32_t parallel_id = 0;
  std::vector<LogicalTensor> logical;  // all tensors; empty: not known
};

// What the op's own function (SetNdSbpInferFn) makes of the hints in `spread`: `dims` entries for
// each tensor.
SbpSignature infer_nd_sbp(const OpRecord& record, const CallSpec& spec, const Spread& spread);

// The outputs on one device, by the op's physical inference (SetPhysicalTensorDescInferFn). The
// tensors of `spec` are those of the device.
std::vector<LogicalTensor> infer_physical(const OpRecord& record, const CallSpec& spec,
                                          Spread spread);

}  // namespace oneop
