// requirement.h: what the program asks of every kernel (oneop.require), and which kernels give it.
#pragma once

#include <cstdint>
#include <string>

#include "engine/ops/defs.h"

namespace oneop {

// Bits of CallSpec::required. The low ones are those of the ABI, ONEOP_REQUIRE_..., which only
// kernels that declare the property give. The others are for torch.use_deterministic_algorithms,
// which asks less: a kernel that says nothing is taken for deterministic, as torch takes its own.
constexpr uint32_t kAvoidNondeterministic = 1u << 16;
constexpr uint32_t kWarnOnly = 1u << 17;  // rather than refuse the call; only with the one above

// Of the whole process: a backward pass runs on threads that its program never saw.
uint32_t required();
void set_required(uint32_t bits);

// What kernels are shown of it, in oneop_frame.required.
uint32_t shown_to_kernels(uint32_t required);

// Why the kernel may not run, as the end of "the kernel ..."; empty: it may.
std::string requirement_missed(const KernelDef& kernel, uint32_t required);

}  // namespace oneop
