// symbolic.h: inference over sizes that are not numbers, as in torch.compile(dynamic=True) and
// torch.export.
#pragma once

#include <c10/core/SymInt.h>

#include <optional>
#include <vector>

#include "torch_host/calls/calls.h"

namespace oneop {

struct SymbolicOutput {
  int32_t dtype = 0;
  std::vector<c10::SymInt> sizes;
};

// An author's inference wants numbers, but most outputs just repeat sizes of the inputs. So it runs
// on made-up numbers: twice, a different one for each distinct size, and once on the real ones. An
// output size that follows one symbol through all of them, or never changes, is that symbol or
// constant, and no guard is needed. Where inference refuses numbers that differ, or a size is
// anything else (a sum, a quotient), as few sizes as possible are guarded: to be equal to each
// other, or to have their number. Nothing is returned where that does not help either: then guards
// on all sizes have to do.
//
// A wrong guess is possible where inference treats one special size differently. It cannot pass
// unnoticed: the real call infers again, and compiled code asserts the sizes it was promised.
std::optional<std::vector<SymbolicOutput>> infer_symbolic(const OpRecord& record,
                                                          const Layout& layout,
                                                          const c10::IValue* args,
                                                          const CallTensors& call);

}  // namespace oneop
