// The tensor_fill primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_TENSOR_FILL_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_TENSOR_FILL_H_

#include "oneflow/core/ep/include/primitive/memory.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_TENSOR_FILL_H_
