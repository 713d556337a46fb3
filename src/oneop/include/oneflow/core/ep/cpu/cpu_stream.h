// Ep::CpuStream, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_CPU_CPU_STREAM_H_
#define ONEFLOW_CORE_EP_CPU_CPU_STREAM_H_

#include "oneflow/core/ep/include/stream.h"

#endif  // ONEFLOW_CORE_EP_CPU_CPU_STREAM_H_
