// THROW and CHECK_OR_THROW, under the name that op files include.
#ifndef ONEFLOW_CORE_COMMON_THROW_H_
#define ONEFLOW_CORE_COMMON_THROW_H_

#include "oneflow/core/common/check.h"

#endif  // ONEFLOW_CORE_COMMON_THROW_H_
