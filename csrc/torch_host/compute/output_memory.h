// output_memory.h: memory for the outputs of a call.
#pragma once

#include <cstdint>
#include <vector>

#include "torch_host/calls/calls.h"

namespace oneop {

// An output as inference describes it, on a device that is current.
at::Tensor allocate_output(const oneop_tensor& output, c10::Device device);

// Makes an output as small as the kernel left it. Its elements lie at the beginning of its memory,
// which goes with the tensor unless more than half of it would be kept for nothing.
void shrink(const oneop_tensor& largest, const std::vector<int64_t>& shape, at::Tensor* output);

}  // namespace oneop
