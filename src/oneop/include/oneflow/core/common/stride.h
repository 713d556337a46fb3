// Stride, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_STRIDE_H_
#define ONEFLOW_CORE_COMMON_STRIDE_H_

#include "oneflow/core/common/shape.h"

#endif  // ONEFLOW_CORE_COMMON_STRIDE_H_
