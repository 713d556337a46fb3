// tensor_state.h: what autograd keeps of a tensor and of a thread, and the elements of a tensor, as
// op libraries see them.
#pragma once

#include "oneop/abi.h"

namespace oneop {

// oneop_host.state
int32_t use_state(oneop_handle handle, int32_t act, int64_t* value, oneop_status* status);

// oneop_host.read
int32_t read_elements(oneop_handle handle, void* to, int64_t bytes, oneop_status* status);

}  // namespace oneop
