// results.h: the tensors of a call and what it returns, on torch's stack.
#pragma once

#include "torch_host/calls/calls.h"

namespace oneop {

// How many tensors each output argument has in this call.
using OutputCounts = c10::SmallVector<int32_t, 8>;
OutputCounts output_counts(const Layout& layout, const c10::IValue* args);

// Puts the outputs in the place of the arguments, which are on top of the stack.
void push_outputs(const Layout& layout, OutputTensors& outputs, torch::jit::Stack* stack);

// The outputs of a call whose results are all that the stack holds.
OutputTensors take_outputs(const Layout& layout, torch::jit::Stack* stack);

// The outputs on top of the stack, which stay there.
OutputTensors outputs_on(const Layout& layout, const OutputCounts& counts,
                         const torch::jit::Stack& stack);

// Calls `act(a, i)` for each tensor: its input argument, and its place among the tensors of the
// call.
template <typename Act>
void for_each_tensor(const CallTensors& call, const Act& act) {
  size_t i = 0;
  for (size_t a = 0; a < call.counts.size(); ++a) {
    for (int32_t k = 0; k < call.counts[a]; ++k, ++i) {
      act(a, i);
    }
  }
}

}  // namespace oneop
