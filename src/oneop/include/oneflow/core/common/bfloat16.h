// bfloat16, under the name that kernel files include.
#ifndef ONEFLOW_CORE_COMMON_BFLOAT16_H_
#define ONEFLOW_CORE_COMMON_BFLOAT16_H_

#include "oneflow/core/common/float16.h"

#endif  // ONEFLOW_CORE_COMMON_BFLOAT16_H_
