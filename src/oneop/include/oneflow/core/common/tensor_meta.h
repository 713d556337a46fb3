// one::IsContiguous: whether the elements of a tensor lie one after the other.
#ifndef ONEFLOW_CORE_COMMON_TENSOR_META_H_
#define ONEFLOW_CORE_COMMON_TENSOR_META_H_

#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

// Steps along dimensions of one element do not count.
template <class Dims, class Steps>
bool IsContiguous(const Dims& dims, const Steps& strides) {
  if (strides.NumAxes() == 0) {
    return true;  // the host hands over contiguous tensors, and says no more of them
  }
  int64_t step = 1;
  for (int64_t i = dims.NumAxes(); i-- > 0; step *= dims.At(i)) {
    if (dims.At(i) == 0) {
      return true;
    }
    if (dims.At(i) != 1 && strides.At(i) != step) {
      return false;
    }
  }
  return true;
}

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_TENSOR_META_H_
