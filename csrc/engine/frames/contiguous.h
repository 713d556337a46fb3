// contiguous.h: tensors of a frame whose elements lie one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "oneop/abi.h"

namespace oneop {

inline int64_t count_elements(const int64_t* shape, int32_t ndim) {
  int64_t count = 1;
  for (int32_t i = 0; i < ndim; ++i) {
    count *= shape[i];
  }
  return count;
}

inline void set_contiguous(oneop_tensor* tensor) {
  int64_t step = 1;
  for (int32_t i = tensor->ndim - 1; i >= 0; --i) {
    tensor->stride[i] = step;
    step *= std::max<int64_t>(tensor->shape[i], 1);
  }
}

}  // namespace oneop
