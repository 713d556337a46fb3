// Range, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_RANGE_H_
#define ONEFLOW_CORE_COMMON_RANGE_H_

#include "oneflow/core/common/balanced_splitter.h"

#endif  // ONEFLOW_CORE_COMMON_RANGE_H_
