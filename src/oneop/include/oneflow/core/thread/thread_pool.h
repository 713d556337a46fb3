// ThreadPool and BlockingCounter, on the host's threads.
#ifndef ONEFLOW_CORE_THREAD_THREAD_POOL_H_
#define ONEFLOW_CORE_THREAD_THREAD_POOL_H_

#include <functional>
#include <vector>

#include "oneflow/core/common/maybe.h"
#include "oneflow/core/common/singleton.h"
#include "oneflow/core/common/util.h"
#include "oneop/sdk/parallel.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// The host runs loops, not single pieces of work. So work is kept while this thread has a counter
// that it can wait for, and runs as one loop when it waits. Without a counter it runs at once.
struct PendingWork {
  std::vector<std::function<void()>> work;
  int counters = 0;

  static PendingWork& Mine() {
    static thread_local PendingWork mine;
    return mine;
  }
  void Run() {
    std::vector<std::function<void()>> todo;
    todo.swap(work);
    oneop::parallel_for(0, static_cast<int64_t>(todo.size()), 1,
                        [&todo](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i != end; ++i) {
                            todo[static_cast<size_t>(i)]();
                          }
                        });
  }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class ThreadPool {
 public:
  using OneopService = void;
  int32_t thread_num() const { return ::oneop::num_threads(); }
  void AddWork(const std::function<void()>& work) {
    ::oneop::sdk::PendingWork& pending = ::oneop::sdk::PendingWork::Mine();
    if (pending.counters == 0) {
      work();
    } else {
      pending.work.push_back(work);
    }
  }
};

// Counts down to zero; waiting runs what this thread gave to the pool.
class BlockingCounter {
 public:
  BlockingCounter(int64_t count) : count_(count) { ++Pending().counters; }  // NOLINT: implicit
  BlockingCounter(const BlockingCounter&) = delete;
  BlockingCounter& operator=(const BlockingCounter&) = delete;
  ~BlockingCounter() { --Pending().counters; }

  int64_t Increase() { return __atomic_add_fetch(&count_, 1, __ATOMIC_ACQ_REL); }
  int64_t Decrease() {
    const int64_t left = __atomic_sub_fetch(&count_, 1, __ATOMIC_ACQ_REL);
    CHECK_GE(left, 0);
    return left;
  }
  void WaitForeverUntilCntEqualZero() {
    Pending().Run();
    CHECK_EQ(__atomic_load_n(&count_, __ATOMIC_ACQUIRE), 0)
        << "a counter is waited for, but no work that counts it down was given to the pool";
  }
  void WaitUntilCntEqualZero() { WaitForeverUntilCntEqualZero(); }

 private:
  static ::oneop::sdk::PendingWork& Pending() { return ::oneop::sdk::PendingWork::Mine(); }
  int64_t count_;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_THREAD_THREAD_POOL_H_
