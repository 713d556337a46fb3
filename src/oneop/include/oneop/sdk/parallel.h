// Loops on the host's thread pool.
#ifndef ONEOP_SDK_PARALLEL_H_
#define ONEOP_SDK_PARALLEL_H_

#include <exception>

#include "oneop/sdk/function.h"
#include "oneop/sdk/library.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

using RangeFn = FnRef<void(int64_t, int64_t)>;

// The host's threads must see no exception: the first one waits here until all pieces are done.
struct ParallelBody {
  RangeFn fn;
  std::exception_ptr error;
  char failed;

  static void Run(void* self, int64_t begin, int64_t end) {
    ParallelBody* body = static_cast<ParallelBody*>(self);
    try {
      body->fn(begin, end);
    } catch (...) {
      if (!__atomic_test_and_set(&body->failed, __ATOMIC_ACQ_REL)) {
        body->error = std::current_exception();
      }
    }
  }
};

inline void ParallelFor(const oneop_host* host, int64_t begin, int64_t end, int64_t grain,
                        RangeFn fn) {
  if (begin >= end) {
    return;
  }
  if (host == nullptr || host->parallel_for == nullptr || end - begin <= grain) {
    fn(begin, end);
    return;
  }
  ParallelBody body{fn, nullptr, 0};
  host->parallel_for(begin, end, grain < 1 ? 1 : grain, &ParallelBody::Run, &body);
  if (body.error) {
    std::rethrow_exception(body.error);
  }
}

}  // namespace sdk

// fn(begin, end) over pieces of [begin, end) of at least `grain` elements.
template <class F>
void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& fn) {
  sdk::ParallelFor(sdk::library.host, begin, end, grain, fn);
}
template <class Ctx, class F>
void parallel_for(Ctx* ctx, int64_t begin, int64_t end, int64_t grain, const F& fn) {
  sdk::ParallelFor(ctx->oneop_frame_ptr()->host, begin, end, grain, fn);
}
inline int32_t num_threads() {
  const oneop_host* host = sdk::library.host;
  return host == nullptr || host->num_threads == nullptr ? 1 : host->num_threads();
}

}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

// fn(i) for each i of [0, count).
template <class F>
void MultiThreadLoop(size_t count, const F& fn) {
  ::oneop::parallel_for(0, static_cast<int64_t>(count), 1, [&fn](int64_t begin, int64_t end) {
    for (int64_t i = begin; i != end; ++i) {
      fn(static_cast<size_t>(i));
    }
  });
}

namespace user_op {
template <class F>
void MultiThreadLoopInOpKernel(size_t count, const F& fn) {
  ::oneflow::MultiThreadLoop(count, fn);
}
}  // namespace user_op

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_PARALLEL_H_
