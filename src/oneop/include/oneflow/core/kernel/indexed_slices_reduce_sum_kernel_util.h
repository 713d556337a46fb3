// Gathers and segment sums, under the name that kernel files include.
#ifndef ONEFLOW_CORE_KERNEL_INDEXED_SLICES_REDUCE_SUM_KERNEL_UTIL_H_
#define ONEFLOW_CORE_KERNEL_INDEXED_SLICES_REDUCE_SUM_KERNEL_UTIL_H_

#include "oneflow/core/kernel/gather_kernel_util.h"

#endif  // ONEFLOW_CORE_KERNEL_INDEXED_SLICES_REDUCE_SUM_KERNEL_UTIL_H_
