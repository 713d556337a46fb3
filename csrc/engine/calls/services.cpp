// services.cpp: see services.h.
#include "engine/calls/services.h"

#include <cstdio>
#include <string>

#include "engine/ops/error.h"
#include "engine/ops/host.h"

namespace oneop {

void log_line(int32_t level, const char* message, int64_t length, const char* file, int32_t line) {
  static const char* const kNames[] = {"debug", "info", "warning", "error"};
  const char* name = kNames[level < 0 ? 0 : level > 3 ? 3 : level];
  std::fprintf(stderr, "oneop %s: %.*s (%s:%d)\n", name, static_cast<int>(length), message,
               file == nullptr ? "?" : file, line);
}

void* scratch_of_frame(const oneop_frame* frame, int64_t bytes, oneop_status* status) {
  if (frame->host_data == nullptr) {
    Status::fail(status, ONEOP_ERROR_RUNTIME,
                 "scratch memory is available only while a kernel runs");
    return nullptr;
  }
  try {
    return static_cast<ScratchPool*>(frame->host_data)->allocate(bytes);
  } catch (const std::exception&) {  // it must not pass through a library's frames
    Status::fail(status, ONEOP_ERROR_RUNTIME,
                 std::to_string(bytes) + " bytes of scratch memory cannot be allocated");
    return nullptr;
  }
}

}  // namespace oneop
