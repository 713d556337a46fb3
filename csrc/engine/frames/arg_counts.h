// arg_counts.h: how many tensors the arguments of a call have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ops/defs.h"

namespace oneop {

// The tensors of all arguments.
int32_t total_count(const std::vector<int32_t>& counts);

// Throws ArgumentError unless each argument of the op takes the number of tensors given.
void check_counts(const OpDef& op, const std::vector<int32_t>& input_counts,
                  const std::vector<int32_t>& output_counts);

// Throws ArgumentError unless an input with gaps has as many tensors as its attribute says.
void check_gap_count(const OpDef& op, size_t input, int64_t found, int64_t expected);

}  // namespace oneop
