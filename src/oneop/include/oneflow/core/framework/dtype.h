// DType by name: DType::Float() and its kin.
#ifndef ONEFLOW_CORE_FRAMEWORK_DTYPE_H_
#define ONEFLOW_CORE_FRAMEWORK_DTYPE_H_

#include "oneop/sdk/handle.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_DTYPE_H_
