// calls.h: reading a call off torch's stack.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <functional>

#include "torch_op.h"

namespace oneop {

c10::IValue to_ivalue(const AttrValue& value);
AttrValue to_attr(const c10::IValue& value, int32_t type);

// False for a number that the type of the attribute cannot hold: torch's schemas know only int and
// float, of 64 bits.
bool value_fits(const c10::IValue& value, int32_t type);

// Throws ArgumentError: the op, `text`, and where the op is defined.
[[noreturn]] void refuse_argument(const Layout& layout, const std::string& text);

// The tensors of a call, by reference into the stack.
struct CallTensors {
  c10::SmallVector<const at::Tensor*, 8> tensors;
  c10::SmallVector<int32_t, 8> counts;  // of each input argument

  CallTensors() = default;
  CallTensors(const Layout& layout, const c10::IValue* args);
};

// True where the dispatcher would do nothing for a call on these tensors but pick autograd and the
// device: no mode, no transform, no autocast, no profiler on this thread, and no tensor with a key
// of its own.
bool is_plain_thread();
bool is_plain(const at::Tensor& tensor);

enum class KeyMode { kFull, kNoShapes };

// Everything that tells this call from another one as far as inference, kernel choice and gradients
// can see.
void append_call_key(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                     KeyMode mode, PlanKey* key);

void append_tensor_key(const Layout& layout, const at::Tensor& tensor, KeyMode mode, PlanKey* key);
void append_ivalue_key(const c10::IValue& value, PlanKey* key);

// Makes a number of a symbolic size; sizes that are numbers already never come to it.
using SizeReader = std::function<int64_t(const c10::SymInt&)>;
int64_t guard_size(const c10::SymInt& size);

CallSpec make_spec(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                   c10::Device device, const SizeReader& read_symbol = guard_size);

bool has_symbolic_sizes(const CallTensors& call);

}  // namespace oneop
