// torch_arguments.h: arguments of torch's own ops, made of the ABI's values.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstddef>
#include <cstdint>

#include "oneop/abi.h"

namespace oneop {

// Whether the value stands for tensors that come later.
bool is_blob(const oneop_value& value);

c10::TypePtr without_optional(const c10::TypePtr& type);

// All arguments, defaults filled in; None in the place of blobs. Throws ArgumentError.
torch::jit::Stack make_torch_arguments(const c10::OperatorHandle& op, const oneop_value* args,
                                       int32_t num_args);

// Throws ArgumentError for argument i.
[[noreturn]] void refuse_torch_argument(const c10::OperatorHandle& op, size_t i,
                                        const oneop_value& value);

}  // namespace oneop
