// The batch_matmul primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BATCH_MATMUL_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BATCH_MATMUL_H_

#include "oneflow/core/ep/include/primitive/matmul.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BATCH_MATMUL_H_
