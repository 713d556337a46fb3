// Included by sources that need little of it: what there is comes with the rest.
#ifndef ONEFLOW_CORE_MEMORY_MEMORY_CASE_UTIL_H_
#define ONEFLOW_CORE_MEMORY_MEMORY_CASE_UTIL_H_

#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_MEMORY_MEMORY_CASE_UTIL_H_
