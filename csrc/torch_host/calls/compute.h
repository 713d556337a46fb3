// compute.h: torch's kernels for every op: run it, infer it, pick its device.
#pragma once

#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

// On a real device: find the plan, allocate, run the kernel.
void compute(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
             torch::jit::Stack* stack);

// On fake and meta tensors: the same inference, no kernel.
void compute_meta(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack);

// For calls without any tensor: the device argument says where.
void select_backend(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

// The device that all tensors of the call are on; throws if they are on several.
c10::Device device_of(const Layout& layout, const c10::IValue* args, const CallTensors& call);

// Allocates the outputs and runs the kernel.
void run_plan(const Layout& layout, const CallTensors& call, const CallPlan& plan,
              c10::Device device, OutputTensors* outputs);

// Wait after each kernel on a device other than the CPU, so that its errors are told with its name.
void set_kernel_sync(bool is_on);
bool kernel_sync();
// Errors of a kernel on a device come late, at some later call. Waiting tells whose they are.
void wait_for_kernel(const std::string& op, const CallPlan& plan, c10::Device device);

// The plan for the arguments at `args`; cached.
std::shared_ptr<const CallPlan> find_plan(const TorchOp& op, const RecordPtr& record,
                                          const c10::IValue* args, const CallTensors& call,
                                          c10::Device device);

}  // namespace oneop
