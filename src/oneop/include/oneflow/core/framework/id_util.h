// Names for ops that a gradient builds.
#ifndef ONEFLOW_CORE_FRAMEWORK_ID_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_ID_UTIL_H_

#include <string>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {

inline std::string GradientOpName(const std::string& op_name) { return op_name + "_grad"; }

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_ID_UTIL_H_
