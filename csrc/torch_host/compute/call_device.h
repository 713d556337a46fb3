// call_device.h: the device of a call.
#pragma once

#include "torch_host/calls/calls.h"

namespace oneop {

// The device that all tensors of the call are on; throws if they are on several. `args` may be null
// where the call gives no device.
c10::Device device_of(const Layout& layout, const c10::IValue* args, const CallTensors& call);

}  // namespace oneop
