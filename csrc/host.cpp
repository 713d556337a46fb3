// host.cpp: the services that op libraries call.
#include "host.h"

#include <ATen/Parallel.h>

#include <cstdio>
#include <string>

#include "error.h"
#include "frame.h"
#include "functions.h"
#include "generators.h"
#include "tensor_handles.h"

namespace oneop {
namespace {

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  void (*body)(void* context, int64_t b, int64_t e), void* context) {
  at::parallel_for(begin, end, grain, [&](int64_t b, int64_t e) { body(context, b, e); });
}

int32_t num_threads() { return at::get_num_threads(); }

void log(int32_t level, const char* message, int64_t length, const char* file, int32_t line) {
  static const char* const kNames[] = {"debug", "info", "warning", "error"};
  const char* name = kNames[level < 0 ? 0 : level > 3 ? 3 : level];
  std::fprintf(stderr, "oneop %s: %.*s (%s:%d)\n", name, static_cast<int>(length), message,
               file == nullptr ? "?" : file, line);
}

void* scratch(const oneop_frame* frame, int64_t bytes, oneop_status* status) {
  if (frame->host_data == nullptr) {
    Status::fail(status, ONEOP_ERROR_RUNTIME,
                 "scratch memory is available only while a kernel runs");
    return nullptr;
  }
  return static_cast<ScratchPool*>(frame->host_data)->allocate(bytes);
}

}  // namespace

const oneop_host* host_table() {
  static const oneop_host table = [] {
    oneop_host made{sizeof(oneop_host),
                    ONEOP_ABI_MAJOR,
                    ONEOP_ABI_MINOR,
                    0,
                    &parallel_for,
                    &num_threads,
                    &log,
                    &scratch};
    fill_tensor_services(&made);
    made.call_function = &call_function;
    made.generator = &use_generator;
    return made;
  }();
  return &table;
}

}  // namespace oneop
