// Included by kernels that mark ranges for a profiler; torch's sees every op itself.
#ifndef ONEFLOW_CORE_PROFILER_PROFILER_H_
#define ONEFLOW_CORE_PROFILER_PROFILER_H_

#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_PROFILER_PROFILER_H_
