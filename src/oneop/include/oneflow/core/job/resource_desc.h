// Included by sources that need little of it: what there is comes with the rest.
#ifndef ONEFLOW_CORE_JOB_RESOURCE_DESC_H_
#define ONEFLOW_CORE_JOB_RESOURCE_DESC_H_

#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_JOB_RESOURCE_DESC_H_
