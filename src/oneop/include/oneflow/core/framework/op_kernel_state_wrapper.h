// OpKernelStateWrapper, under the name that kernel files include.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_KERNEL_STATE_WRAPPER_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_KERNEL_STATE_WRAPPER_H_

#include "oneflow/core/framework/op_kernel.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_KERNEL_STATE_WRAPPER_H_
