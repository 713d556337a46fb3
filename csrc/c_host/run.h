// run.h: running a planned call on memory of the caller's.
#pragma once

#include "engine/plans/plan.h"

namespace oneop {

using AllocateOnDevice = void* (*)(int32_t device_index, int64_t bytes, void* stream);
using FreeOnDevice = void (*)(int32_t device_index, void* block, void* stream);

// Scratch memory of devices that are no cpu; without these, kernels that ask for some are refused.
void set_device_memory(AllocateOnDevice allocate, FreeOnDevice free_block);

// `data` has the addresses of inputs and outputs, which are contiguous unless the op takes strides.
// `scratch` holds plan.tmp_bytes(), or is null: then the memory is found here.
// `shapes` must be given where plan.has_dynamic_outputs().
void run_on(const CallPlan& plan, void* const* data, void* scratch, void* stream,
            CallPlan::Shapes* shapes = nullptr);

}  // namespace oneop
