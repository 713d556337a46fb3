// MemoryFormat, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_MEMORY_FORMAT_PB_H_
#define ONEFLOW_CORE_COMMON_MEMORY_FORMAT_PB_H_

#include "oneflow/core/framework/tensor_desc.h"

#endif  // ONEFLOW_CORE_COMMON_MEMORY_FORMAT_PB_H_
