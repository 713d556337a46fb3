// maybe_wrap_dim: an axis counted from the end is a negative one.
#ifndef ONEFLOW_CORE_COMMON_WRAP_DIM_UTILS_H_
#define ONEFLOW_CORE_COMMON_WRAP_DIM_UTILS_H_

#include "oneflow/core/common/maybe.h"

namespace oneflow ONEOP_HIDDEN {

// A tensor without dimensions has the axes 0 and -1, where it may have any.
inline Maybe<int64_t> maybe_wrap_dim(int64_t dim, int64_t ndim, bool wrap_scalar = true) {
  CHECK_OR_RETURN(ndim > 0 || wrap_scalar) << "a tensor without dimensions has no axis " << dim;
  const int64_t range = ndim == 0 ? 1 : ndim;
  CHECK_OR_RETURN(-range <= dim && dim < range)
      << "Dimension out of range (expected to be in range of [" << -range << ", " << range - 1
      << "], but got " << dim << ")";
  return dim < 0 ? dim + range : dim;
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_WRAP_DIM_UTILS_H_
