// The three REGISTER_ macros, under the name that op files include.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_REGISTRY_MANAGER_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_REGISTRY_MANAGER_H_

#include "oneflow/core/framework/user_op_grad_registry.h"
#include "oneflow/core/framework/user_op_kernel_registry.h"
#include "oneflow/core/framework/user_op_registry.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_REGISTRY_MANAGER_H_
