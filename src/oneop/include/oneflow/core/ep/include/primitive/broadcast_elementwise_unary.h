// The broadcast_elementwise_unary primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BROADCAST_ELEMENTWISE_UNARY_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BROADCAST_ELEMENTWISE_UNARY_H_

#include "oneflow/core/ep/include/primitive/elementwise_unary.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BROADCAST_ELEMENTWISE_UNARY_H_
