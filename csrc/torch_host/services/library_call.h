// library_call.h: an op called by a library, with handles.
#pragma once

#include "oneop/abi.h"

namespace oneop {

// oneop_host.dispatch
int32_t dispatch_call(const oneop_call* call, oneop_handle* outputs, oneop_status* status);

}  // namespace oneop
