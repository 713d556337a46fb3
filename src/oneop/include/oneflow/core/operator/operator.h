// What op files use of OneFlow's Operator: names of tensors, signatures, physical shapes.
#ifndef ONEFLOW_CORE_OPERATOR_OPERATOR_H_
#define ONEFLOW_CORE_OPERATOR_OPERATOR_H_

#include "oneflow/core/job/nd_sbp_util.h"
#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_OPERATOR_OPERATOR_H_
