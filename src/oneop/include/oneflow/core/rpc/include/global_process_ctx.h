// Included by sources that need little of it: what there is comes with the rest.
#ifndef ONEFLOW_CORE_RPC_INCLUDE_GLOBAL_PROCESS_CTX_H_
#define ONEFLOW_CORE_RPC_INCLUDE_GLOBAL_PROCESS_CTX_H_

#include "oneop/sdk/port.h"

#endif  // ONEFLOW_CORE_RPC_INCLUDE_GLOBAL_PROCESS_CTX_H_
