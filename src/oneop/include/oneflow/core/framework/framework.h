// Everything an op file needs.
#ifndef ONEFLOW_CORE_FRAMEWORK_FRAMEWORK_H_
#define ONEFLOW_CORE_FRAMEWORK_FRAMEWORK_H_

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/maybe.h"
#include "oneflow/core/common/preprocessor.h"
#include "oneflow/core/common/scalar.h"
#include "oneflow/core/common/shape.h"
#include "oneflow/core/common/util.h"
#include "oneflow/core/device/cuda_util.h"
#include "oneflow/core/ep/include/stream.h"
#include "oneflow/core/framework/batch_axis_context.h"
#include "oneflow/core/framework/device.h"
#include "oneflow/core/framework/infer_util.h"
#include "oneflow/core/framework/op_kernel.h"
#include "oneflow/core/framework/sbp_context.h"
#include "oneflow/core/framework/user_op_grad_registry.h"
#include "oneflow/core/framework/user_op_hob.h"
#include "oneflow/core/framework/user_op_kernel_registry.h"
#include "oneflow/core/framework/user_op_registry.h"
#include "oneflow/core/kernel/new_kernel_util.h"

#if defined(ONEOP_PORT)
#include "oneop/sdk/port.h"
#endif

#endif  // ONEFLOW_CORE_FRAMEWORK_FRAMEWORK_H_
