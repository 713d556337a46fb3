// job_lock.h: the locks of jobs. One class for all of them, so that a deadlock between any of them
// is found and reported instead of waited for.
//
// Which locks there are, in the order in which a thread takes them:
//   1. the tracing lock of the process (exclusive): one job is traced at a time;
//   2. the turn of a job (exclusive): a job has one set of buffers, so its runs take turns;
//   3. the variables of a session (shared to read, exclusive to change): a run, a checkpoint or a
//      load sees and leaves the variables of whole steps only.
// Kernels and callbacks are Python and may call other jobs, which breaks that order. Then the
// thread whose wait would close a circle gets an error.
//
// No thread waits for one of these locks while it holds the GIL: whoever holds the lock may need
// the GIL to go on. Conversely the table of waiting threads is only locked for a few instructions
// that never take the GIL.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace oneop {

class JobLock {
 public:
  enum class Mode { kShared, kExclusive };

  // `what` completes error messages: 'job "f"', "the variables". A lock that is not recursive
  // throws when a thread takes it that has it already.
  JobLock(std::string what, bool is_recursive);
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

  // Takes the lock without waiting, if it is free and this thread does not have it.
  bool try_lock(Mode mode);
  // Waits for the lock; the caller must not hold the GIL. Throws ArgumentError where waiting would
  // never end. What a thread has exclusively it may take again in either mode, and what it has
  // shared it may take again shared, if the lock is recursive.
  void lock(Mode mode);
  void unlock();            // what this thread took last of this lock
  bool is_held() const;     // by this thread
  static bool holds_any();  // whether this thread has a lock of any job

 private:
  struct Held {
    JobLock* lock;
    Mode mode;
    bool counts;  // false: taken again, nothing to give back
  };
  struct Waiter {
    JobLock* lock;
    Mode mode;
    std::chrono::steady_clock::time_point since;
    const std::vector<Held>* held;  // of the waiting thread; does not change while it waits
    bool is_granted = false;
    std::condition_variable wakeup{};
  };
  struct Table;
  static Table& table();
  static std::vector<Held>& held_by_thread();

  static bool blocks(const Waiter& other, const Waiter& waiter);
  static bool closes_circle(const Waiter& waiter);
  bool take_again(std::vector<Held>& held, Mode mode);
  bool take_free(Mode mode);
  bool take_between_waiters(Mode mode, const Waiter* self);
  void give_back(Mode mode);
  void wake_next();
  void wait(Mode mode);

  // The number of shared holders times 4, kExclusiveBit, kWaitedForBit. While kWaitedForBit is set
  // the word is only changed under the table's mutex, except that shared holders count themselves
  // off.
  std::atomic<uint32_t> state_{0};
  std::deque<Waiter*> queue_;  // under the table's mutex
  const std::string what_;
  const bool is_recursive_;
};

}  // namespace oneop
