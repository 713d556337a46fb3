// run_plan.h: running a call that is planned.
#pragma once

#include "torch_host/calls/calls.h"

namespace oneop {

// Allocates the outputs and runs the kernel.
void run_plan(const Layout& layout, const CallTensors& call, const CallPlan& plan,
              c10::Device device, OutputTensors* outputs);

}  // namespace oneop
