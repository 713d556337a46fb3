// The permute primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_PERMUTE_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_PERMUTE_H_

#include "oneflow/core/ep/include/primitive/copy_nd.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_PERMUTE_H_
