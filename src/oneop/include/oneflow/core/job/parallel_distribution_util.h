// What 0.4 calls nd_sbp_util.h.
#ifndef ONEFLOW_CORE_JOB_PARALLEL_DISTRIBUTION_UTIL_H_
#define ONEFLOW_CORE_JOB_PARALLEL_DISTRIBUTION_UTIL_H_

#include "oneflow/core/job/nd_sbp_util.h"

#endif  // ONEFLOW_CORE_JOB_PARALLEL_DISTRIBUTION_UTIL_H_
