// services.h: services for libraries that are the same in every host.
#pragma once

#include "oneop/abi.h"

namespace oneop {

// oneop_host.log: a line on stderr.
void log_line(int32_t level, const char* message, int64_t length, const char* file, int32_t line);

// oneop_host.scratch: memory of the ScratchPool that is the frame's host_data.
void* scratch_of_frame(const oneop_frame* frame, int64_t bytes, oneop_status* status);

}  // namespace oneop
