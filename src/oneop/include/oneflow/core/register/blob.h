// Blob: what OneFlow's own kernels call a tensor.
#ifndef ONEFLOW_CORE_REGISTER_BLOB_H_
#define ONEFLOW_CORE_REGISTER_BLOB_H_

#include "oneflow/core/framework/user_op_tensor.h"

namespace oneflow ONEOP_HIDDEN {

using Blob = user_op::Tensor;

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_REGISTER_BLOB_H_
