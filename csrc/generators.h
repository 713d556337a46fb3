// generators.h: torch's random generators as op libraries see them.
#pragma once

#include <ATen/core/Generator.h>

#include "oneop/abi.h"

namespace oneop {

// A further reference; null is the default generator of the cpu.
at::Generator generator_of(oneop_handle handle);

// oneop_host.generator
int32_t use_generator(oneop_handle handle, int32_t act, uint64_t* value, oneop_status* status);

}  // namespace oneop
