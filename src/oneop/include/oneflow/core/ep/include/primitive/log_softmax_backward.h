// The log_softmax_backward primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_LOG_SOFTMAX_BACKWARD_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_LOG_SOFTMAX_BACKWARD_H_

#include "oneflow/core/ep/include/primitive/softmax.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_LOG_SOFTMAX_BACKWARD_H_
