// Global<T>, under the name that sources of 2020 include.
#ifndef ONEFLOW_CORE_JOB_GLOBAL_FOR_H_
#define ONEFLOW_CORE_JOB_GLOBAL_FOR_H_

#include "oneflow/core/common/singleton.h"

#endif  // ONEFLOW_CORE_JOB_GLOBAL_FOR_H_
