// kernel_sync.h: waiting for kernels, so that their errors are told with their names.
#pragma once

#include <string>

#include "torch_host/calls/calls.h"

namespace oneop {

// Wait after each kernel on a device other than the CPU, so that its errors are told with its name.
void set_kernel_sync(bool is_on);
bool kernel_sync();
// Errors of a kernel on a device come late, at some later call. Waiting tells whose they are.
void wait_for_kernel(const std::string& op, const CallPlan& plan, c10::Device device);

}  // namespace oneop
