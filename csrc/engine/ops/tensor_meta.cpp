// tensor_meta.cpp: the strides of a tensor whose elements lie one after the other.
#include "engine/ops/tensor_meta.h"

#include <algorithm>
#include <cstddef>

namespace oneop {

std::vector<int64_t> TensorMeta::contiguous_stride(const std::vector<int64_t>& shape) {
  std::vector<int64_t> stride(shape.size());
  int64_t step = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    stride[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return stride;
}

}  // namespace oneop
