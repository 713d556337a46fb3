// MultiThreadLoop and ThreadPool, under the name that kernel files include.
#ifndef ONEFLOW_CORE_THREAD_THREAD_MANAGER_H_
#define ONEFLOW_CORE_THREAD_THREAD_MANAGER_H_

#include "oneflow/core/thread/thread_pool.h"
#include "oneop/sdk/parallel.h"

#endif  // ONEFLOW_CORE_THREAD_THREAD_MANAGER_H_
