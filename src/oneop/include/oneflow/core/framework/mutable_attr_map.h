// MutableAttrMap, under the name that functor files include.
#ifndef ONEFLOW_CORE_FRAMEWORK_MUTABLE_ATTR_MAP_H_
#define ONEFLOW_CORE_FRAMEWORK_MUTABLE_ATTR_MAP_H_

#include "oneflow/core/framework/attr_map.h"

#endif  // ONEFLOW_CORE_FRAMEWORK_MUTABLE_ATTR_MAP_H_
