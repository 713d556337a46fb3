// DataType, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_DATA_TYPE_PB_H_
#define ONEFLOW_CORE_COMMON_DATA_TYPE_PB_H_

#include "oneflow/core/common/data_type.h"

#endif  // ONEFLOW_CORE_COMMON_DATA_TYPE_PB_H_
