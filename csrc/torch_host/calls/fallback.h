// fallback.h: calls on a device for which an op has no kernel, run on the CPU if the user asked for
// that.
#pragma once

#include "engine/ops/error.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

void set_cpu_fallback(bool is_on);

// Whether this error, of a call on this device, is a reason to run on the CPU.
bool falls_back(const Error& error, c10::Device device);

using ComputeFunction = void (*)(const TorchOp&, const c10::OperatorHandle&, c10::DispatchKeySet,
                                 torch::jit::Stack*);

// Copies the tensors of the call, calls `compute`, and copies the results to the device; warns once
// for each op.
void compute_on_cpu(const TorchOp& op, const Layout& layout, const c10::OperatorHandle& handle,
                    c10::DispatchKeySet keys, c10::Device device, torch::jit::Stack* stack,
                    ComputeFunction compute);

}  // namespace oneop
