// calls.h: reading a call off torch's stack.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "engine/frames/frame.h"
#include "torch_host/ops/ivalues.h"
#include "torch_host/ops/layout.h"

namespace oneop {

// Throws ArgumentError: the op, `text`, and where the op is defined.
[[noreturn]] void refuse_argument(const Layout& layout, const std::string& text);

// The tensors of a call, by reference into the stack.
struct CallTensors {
  c10::SmallVector<const at::Tensor*, 8> tensors;
  c10::SmallVector<int32_t, 8> counts;  // of each input argument

  CallTensors() = default;
  CallTensors(const Layout& layout, const c10::IValue* args);
};

using OutputTensors = c10::SmallVector<at::Tensor, 4>;

// True where the dispatcher would do nothing for a call on these tensors but pick autograd and the
// device: no mode, no transform, no autocast, no profiler on this thread, and no tensor with a key
// of its own.
bool is_plain_thread();
bool is_plain(const at::Tensor& tensor);

// What calls ask of kernels now: oneop.require and torch.use_deterministic_algorithms.
uint32_t required_of_calls();

// A number of tensors, of output_counts. One that no int32 holds stays too large or too small, so
// that check_counts refuses it.
inline int32_t tensor_count(const c10::IValue& value) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::clamp<int64_t>(value.toInt(), -most, most));
}

enum class KeyMode { kFull, kNoShapes };

// Everything that tells this call from another one as far as inference, kernel choice and gradients
// can see: first what is required, then the inputs, then the words of the attributes
// (append_attr_key) in the order of the schema, then those of output_counts.
void append_inputs_key(const Layout& layout, const CallTensors& call, KeyMode mode, PlanKey* key);
void append_call_key(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                     KeyMode mode, PlanKey* key);

// Makes a number of a symbolic size; sizes that are numbers already never come to it.
using SizeReader = std::function<int64_t(const c10::SymInt&)>;
int64_t guard_size(const c10::SymInt& size);

CallSpec make_spec(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                   c10::Device device, const SizeReader& read_symbol = guard_size);

bool has_symbolic_sizes(const CallTensors& call);

}  // namespace oneop
