// small_vector, under the name that functor files include.
#ifndef ONEFLOW_CORE_COMMON_OP_ARGS_VECTOR_H_
#define ONEFLOW_CORE_COMMON_OP_ARGS_VECTOR_H_

#include "oneflow/core/common/small_vector.h"

#endif  // ONEFLOW_CORE_COMMON_OP_ARGS_VECTOR_H_
