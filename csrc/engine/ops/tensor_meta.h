// tensor_meta.h: what is known of a tensor without its data.
#pragma once

#include <cstdint>
#include <vector>

#include "oneop/abi.h"

namespace oneop {

struct TensorMeta {
  int32_t dtype = 0;
  int32_t device_type = ONEOP_DEVICE_CPU;
  int32_t device_index = -1;
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;

  static std::vector<int64_t> contiguous_stride(const std::vector<int64_t>& shape);
};

}  // namespace oneop
