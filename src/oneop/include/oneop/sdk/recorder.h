// Where calls go while a gradient is being made: they are recorded, not run.
#ifndef ONEOP_SDK_RECORDER_H_
#define ONEOP_SDK_RECORDER_H_

#include "oneop/sdk/handle.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

struct Recorder {
  virtual int32_t Record(const oneop_call* call, oneop_handle* outputs, oneop_status* status) = 0;
  // A function of torch's.
  virtual int32_t RecordFunction(const char* name, const oneop_value* args, int32_t num_args,
                                 oneop_result* result, oneop_status* status) = 0;

 protected:
  ~Recorder() = default;
};

// The one of the gradient that this thread makes, or null.
inline Recorder* CurrentRecorder() {
  return __atomic_load_n(&num_recording, __ATOMIC_RELAXED) != 0 ? thread_state.recorder : nullptr;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_RECORDER_H_
