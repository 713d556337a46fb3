// orderly_call.h: the usual call of a library: a tensor for each input, one output, everything in
// the order of the definition, numbers as attributes.
#pragma once

#include <Python.h>

#include "torch_host/autograd/direct_call.h"

namespace oneop {

inline bool is_integer(int32_t type) {
  return type == ONEOP_ATTR_INT32 || type == ONEOP_ATTR_INT64 || type == ONEOP_ATTR_BOOL;
}
inline bool is_float(int32_t type) { return type == ONEOP_ATTR_FLOAT || type == ONEOP_ATTR_DOUBLE; }

// The GIL is let go where this thread holds it.
class MaybeReleaseGil {
 public:
  explicit MaybeReleaseGil(ThreadCache& cache)
      : cache_(cache), was_known_(std::exchange(cache.holds_gil, false)) {
    state_ = was_known_ || PyGILState_Check() ? PyEval_SaveThread() : nullptr;
  }
  ~MaybeReleaseGil() {
    if (state_ != nullptr) {
      PyEval_RestoreThread(state_);
    }
    cache_.holds_gil = was_known_;
  }

 private:
  ThreadCache& cache_;
  bool was_known_;
  PyThreadState* state_;
};

// Runs a call that this thread made before. The kernels of Python keep the GIL.
inline void run_prepared(DirectCall* direct) {
  direct->begin();
  if (direct->holds_gil()) {
    direct->compute();
  } else {
    MaybeReleaseGil released(direct->cache());
    direct->compute();
  }
  direct->end();
}

// It is told apart and run with nothing put aside. False: it is another kind of call, and nothing
// has been done.
bool run_orderly(const TorchOp& op, const oneop_call& call, oneop_handle* outputs);

}  // namespace oneop
