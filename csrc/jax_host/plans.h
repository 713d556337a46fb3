// plans.h: the plans of XLA's calls, found again at each call.
#pragma once

#include <string>

#include "oneop/runtime.h"
#include "xla/ffi/api/ffi.h"

namespace oneop {

// That of the process.
extern const oneop_runtime* runtime;

using Words = xla::ffi::Span<const int64_t>;

// Where a call runs.
struct Place {
  int32_t device_type = ONEOP_DEVICE_CPU;
  int32_t device_index = -1;
  void* stream = nullptr;
  xla::ffi::ScratchAllocator* scratch = nullptr;  // null: the runtime finds memory itself
};

// The plan of a call; null: there is none, or it has other outputs than the program, and `problem`
// says why. It lives until this thread's next call. The words are [bytes of the op's name, the
// name, inputs, their counts, outputs, their counts, attributes].
const oneop_plan* find_plan(const Place& place, Words words, const xla::ffi::RemainingArgs& args,
                            const xla::ffi::RemainingRets& rets, std::string* problem);

}  // namespace oneop
