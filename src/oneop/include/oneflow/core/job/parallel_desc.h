// ParallelDesc, under the name that op files include.
#ifndef ONEFLOW_CORE_JOB_PARALLEL_DESC_H_
#define ONEFLOW_CORE_JOB_PARALLEL_DESC_H_

#include "oneop/sdk/context.h"

#endif  // ONEFLOW_CORE_JOB_PARALLEL_DESC_H_
