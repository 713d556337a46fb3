// Error, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_ERROR_PB_H_
#define ONEFLOW_CORE_COMMON_ERROR_PB_H_

#include "oneflow/core/common/error.h"
#include "oneflow/core/common/protobuf.h"

#endif  // ONEFLOW_CORE_COMMON_ERROR_PB_H_
