// AttrType, under the name that op files include.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_ATTR_PB_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_ATTR_PB_H_

#include "oneflow/core/framework/attr_value.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_ATTR_PB_H_
