// calls.h: reading a call off torch's stack, and finding its plan.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "torch_op.h"

namespace oneop {

c10::IValue to_ivalue(const AttrValue& value);
AttrValue to_attr(const c10::IValue& value, int32_t type);

// The tensors of a call, by reference into the stack.
struct CallTensors {
  c10::SmallVector<const at::Tensor*, 8> tensors;
  c10::SmallVector<int32_t, 8> counts;  // of each input argument

  CallTensors(const Layout& layout, const c10::IValue* args);
};

enum class KeyMode { kFull, kNoShapes };

// Everything that tells this call from another one as far as inference, kernel choice and gradients can see.
void append_call_key(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                     KeyMode mode, PlanKey* key);

// How to make numbers of symbolic sizes: guard on each, or pretend (sizes that nobody will look at).
enum class SymbolicSizes { kGuard, kPretend };

CallSpec make_spec(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                   c10::Device device, SymbolicSizes symbolic);

bool has_symbolic_sizes(const CallTensors& call);

}  // namespace oneop
