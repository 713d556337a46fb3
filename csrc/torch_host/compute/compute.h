// compute.h: torch's kernel for every op on a real device.
#pragma once

#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

// Finds the plan, allocates, runs the kernel.
void compute(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
             torch::jit::Stack* stack);

// For calls without any tensor: the device argument says where.
void select_backend(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

// The plan for the arguments at `args`; cached.
std::shared_ptr<const CallPlan> find_plan(const TorchOp& op, const RecordPtr& record,
                                          const c10::IValue* args, const CallTensors& call,
                                          c10::Device device);

}  // namespace oneop
