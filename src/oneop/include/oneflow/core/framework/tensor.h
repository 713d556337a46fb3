// one::Tensor, a tensor of the host.
#ifndef ONEFLOW_CORE_FRAMEWORK_TENSOR_H_
#define ONEFLOW_CORE_FRAMEWORK_TENSOR_H_

#include "oneop/sdk/handle.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_TENSOR_H_
