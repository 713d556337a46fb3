// TensorTuple, a list of tensors of the host.
#ifndef ONEFLOW_CORE_FRAMEWORK_TENSOR_TUPLE_H_
#define ONEFLOW_CORE_FRAMEWORK_TENSOR_TUPLE_H_

#include "oneop/sdk/handle.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_TENSOR_TUPLE_H_
