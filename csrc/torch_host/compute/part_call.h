// part_call.h: `torch.ops.oneop.<op>.part`: a call on one device's part of the tensors.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

namespace oneop {

// Defines the overload `part` of an op, or again after its arguments changed: the op's own, and
// `int[] part`, see part.h. It is an op, so a compiled graph can hold the call. With `draws` each
// shard draws random numbers of its own. Python caches of the op must be dropped if it returns
// true.
bool define_part(const std::string& name, bool draws);

// The part that the kernel on this thread runs for, as numbers, or None.
pybind11::object current_part();

}  // namespace oneop
