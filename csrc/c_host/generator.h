// generator.h: random numbers of a program that has no generators of its own.
#pragma once

#include <cstdint>

#include "oneop/abi.h"

namespace oneop {

// The one generator of the process: splitmix64, so a seed is all its state.
void set_seed(uint64_t seed);

// oneop_host.generator; the handle is null.
int32_t use_plain_generator(oneop_handle generator, int32_t act, uint64_t* value,
                            oneop_status* status);

}  // namespace oneop
