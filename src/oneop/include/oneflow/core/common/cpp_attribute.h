// Included by sources that need little of it: what there is comes with the rest.
#ifndef ONEFLOW_CORE_COMMON_CPP_ATTRIBUTE_H_
#define ONEFLOW_CORE_COMMON_CPP_ATTRIBUTE_H_

#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_COMMON_CPP_ATTRIBUTE_H_
