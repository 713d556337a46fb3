// JUST and its relatives, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_JUST_H_
#define ONEFLOW_CORE_COMMON_JUST_H_

#include "oneflow/core/common/maybe.h"

#endif  // ONEFLOW_CORE_COMMON_JUST_H_
