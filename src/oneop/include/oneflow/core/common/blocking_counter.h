// BlockingCounter, under the name that kernel files include.
#ifndef ONEFLOW_CORE_COMMON_BLOCKING_COUNTER_H_
#define ONEFLOW_CORE_COMMON_BLOCKING_COUNTER_H_

#include "oneflow/core/thread/thread_pool.h"

#endif  // ONEFLOW_CORE_COMMON_BLOCKING_COUNTER_H_
