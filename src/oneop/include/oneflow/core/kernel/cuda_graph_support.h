// The CudaGraphSupport mixin, under the name that kernel files include.
#ifndef ONEFLOW_CORE_KERNEL_CUDA_GRAPH_SUPPORT_H_
#define ONEFLOW_CORE_KERNEL_CUDA_GRAPH_SUPPORT_H_

#include "oneflow/core/framework/op_kernel.h"

#endif  // ONEFLOW_CORE_KERNEL_CUDA_GRAPH_SUPPORT_H_
