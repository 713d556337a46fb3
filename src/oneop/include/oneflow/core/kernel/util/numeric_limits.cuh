// detail::numeric_limits, under the name that kernel files include.
#ifndef ONEFLOW_CORE_KERNEL_UTIL_NUMERIC_LIMITS_CUH_
#define ONEFLOW_CORE_KERNEL_UTIL_NUMERIC_LIMITS_CUH_

#include "oneflow/core/kernel/util/numerics.cuh"

#endif  // ONEFLOW_CORE_KERNEL_UTIL_NUMERIC_LIMITS_CUH_
