// GetPhysicalShape and its kin, under the name that op files include.
#ifndef ONEFLOW_CORE_FRAMEWORK_SBP_INFER_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_SBP_INFER_UTIL_H_

#include "oneflow/core/job/nd_sbp_util.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_SBP_INFER_UTIL_H_
