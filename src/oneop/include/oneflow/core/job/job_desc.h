// JobDesc, under the name that kernel files include.
#ifndef ONEFLOW_CORE_JOB_JOB_DESC_H_
#define ONEFLOW_CORE_JOB_JOB_DESC_H_

#include "oneop/sdk/context.h"
#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_JOB_JOB_DESC_H_
