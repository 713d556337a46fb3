// Stream, under the name that op files include.
#ifndef ONEFLOW_CORE_FRAMEWORK_STREAM_H_
#define ONEFLOW_CORE_FRAMEWORK_STREAM_H_

#include "oneflow/core/framework/device.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_STREAM_H_
