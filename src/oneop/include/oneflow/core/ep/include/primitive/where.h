// The where primitive, under the name that kernel files include.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_WHERE_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_WHERE_H_

#include "oneflow/core/ep/include/primitive/add.h"

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_WHERE_H_
