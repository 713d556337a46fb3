// GlobalMode, under the name that functor files include.
#ifndef ONEFLOW_CORE_JOB_GLOBAL_MODE_H_
#define ONEFLOW_CORE_JOB_GLOBAL_MODE_H_

#include "oneflow/core/job/lazy_mode.h"

#endif  // ONEFLOW_CORE_JOB_GLOBAL_MODE_H_
