// What kernel files use of OneFlow's Kernel.
#ifndef ONEFLOW_CORE_KERNEL_KERNEL_H_
#define ONEFLOW_CORE_KERNEL_KERNEL_H_

#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_KERNEL_KERNEL_H_
