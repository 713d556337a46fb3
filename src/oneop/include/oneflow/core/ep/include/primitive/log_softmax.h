// The log_softmax primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_LOG_SOFTMAX_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_LOG_SOFTMAX_H_

#include "oneflow/core/ep/include/primitive/softmax.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_LOG_SOFTMAX_H_
