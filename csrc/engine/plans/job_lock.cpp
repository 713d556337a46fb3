// job_lock.cpp: taking, waiting for and handing over the locks of jobs.
#include "engine/plans/job_lock.h"

#include <algorithm>
#include <mutex>

#include "engine/ops/error.h"

namespace oneop {
namespace {

constexpr uint32_t kWaitedForBit = 1;
constexpr uint32_t kExclusiveBit = 2;
constexpr uint32_t kOneShared = 4;

// A lock that is given back goes to whoever asks first, which is quick, unless the first in the
// queue has waited this long: then it is handed over, so that a thread in a tight loop cannot keep
// all others out.
constexpr std::chrono::microseconds kPatience(500);

}  // namespace

// All threads that wait for any lock of a job.
struct JobLock::Table {
  std::mutex mutex;
  std::vector<Waiter*> waiters;
};

JobLock::Table& JobLock::table() {
  static Table* table = new Table;  // never destroyed: threads may outlive main()
  return *table;
}

std::vector<JobLock::Held>& JobLock::held_by_thread() {
  thread_local std::vector<Held> held;
  return held;
}

JobLock::JobLock(std::string what, bool is_recursive)
    : what_(std::move(what)), is_recursive_(is_recursive) {}

bool JobLock::is_held() const {
  const std::vector<Held>& held = held_by_thread();
  return std::any_of(held.begin(), held.end(), [&](const Held& one) { return one.lock == this; });
}

bool JobLock::holds_any() { return !held_by_thread().empty(); }

// True if this thread has the lock and may take it again in this mode.
bool JobLock::take_again(std::vector<Held>& held, Mode mode) {
  bool has_shared = false;
  bool has_exclusive = false;
  for (const Held& one : held) {
    if (one.lock == this) {
      (one.mode == Mode::kShared ? has_shared : has_exclusive) = true;
    }
  }
  if (!has_shared && !has_exclusive) {
    return false;
  }
  if (!is_recursive_) {
    throw Error("ArgumentError",
                what_ +
                    " is called again from inside its own run (by a kernel or a signal handler)\n  "
                    "a job has one "
                    "set of buffers: call the function itself there, or make a second job of it");
  }
  if (mode == Mode::kExclusive && !has_exclusive) {
    throw Error("ArgumentError", what_ +
                                     " cannot be changed here: this thread is inside a run or a "
                                     "checkpoint that reads them\n  change them after it");
  }
  held.push_back({this, mode, false});
  return true;
}

bool JobLock::take_free(Mode mode) {
  uint32_t state = state_.load(std::memory_order_relaxed);
  if (mode == Mode::kExclusive) {
    return state == 0 &&
           state_.compare_exchange_strong(state, kExclusiveBit, std::memory_order_acquire,
                                          std::memory_order_relaxed);
  }
  while ((state & (kExclusiveBit | kWaitedForBit)) == 0) {
    if (state_.compare_exchange_weak(state, state + kOneShared, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool JobLock::try_lock(Mode mode) {
  std::vector<Held>& held = held_by_thread();
  if (!held.empty() && take_again(held, mode)) {
    return true;
  }
  if (!take_free(mode)) {
    return false;
  }
  held.push_back({this, mode, true});
  return true;
}

void JobLock::lock(Mode mode) {
  if (try_lock(mode)) {
    return;
  }
  wait(mode);
  held_by_thread().push_back({this, mode, true});
}

void JobLock::unlock() {
  std::vector<Held>& held = held_by_thread();
  for (size_t i = held.size(); i-- > 0;) {
    if (held[i].lock == this) {
      const Held mine = held[i];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      if (mine.counts) {
        give_back(mine.mode);
      }
      return;
    }
  }
}

void JobLock::give_back(Mode mode) {
  if (mode == Mode::kExclusive) {
    uint32_t expected = kExclusiveBit;
    if (state_.compare_exchange_strong(expected, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      return;
    }
  } else {
    const uint32_t before = state_.fetch_sub(kOneShared, std::memory_order_release);
    if (before != (kOneShared | kWaitedForBit)) {
      return;  // others still have it, or nobody waits
    }
  }
  std::lock_guard<std::mutex> all(table().mutex);
  if (mode == Mode::kExclusive) {
    state_.fetch_and(~kExclusiveBit, std::memory_order_release);
  }
  wake_next();
}

// With the table's mutex: the lock has become free, and threads may wait for it.
void JobLock::wake_next() {
  const auto now = std::chrono::steady_clock::now();
  for (Waiter* waiter : queue_) {
    const bool is_shared = waiter->mode == Mode::kShared;
    if (!waiter->is_granted && now - waiter->since > kPatience) {
      const uint32_t state = state_.load(std::memory_order_relaxed);
      const uint32_t wanted = is_shared ? kExclusiveBit : ~kWaitedForBit;
      if ((state & wanted) != 0) {
        return;
      }
      state_.fetch_add(is_shared ? kOneShared : kExclusiveBit, std::memory_order_acquire);
      waiter->is_granted = true;
    }
    waiter->wakeup.notify_one();
    if (!is_shared) {
      return;
    }
  }
}

// With the table's mutex, kWaitedForBit set: takes the lock if it is free. A shared holder does not
// pass one that waits for it exclusively, or that one might wait forever.
bool JobLock::take_between_waiters(Mode mode, const Waiter* self) {
  if (mode == Mode::kShared) {
    for (const Waiter* waiter : queue_) {
      if (waiter == self) {
        break;
      }
      if (waiter->mode == Mode::kExclusive) {
        return false;
      }
    }
  }
  uint32_t state = state_.load(std::memory_order_relaxed);
  const uint32_t against = mode == Mode::kShared ? kExclusiveBit : ~kWaitedForBit;
  while ((state & against) == 0) {
    const uint32_t next = state + (mode == Mode::kShared ? kOneShared : kExclusiveBit);
    if (state_.compare_exchange_weak(state, next, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void JobLock::wait(Mode mode) {
  std::unique_lock<std::mutex> all(table().mutex);
  state_.fetch_or(kWaitedForBit, std::memory_order_relaxed);
  if (!take_between_waiters(mode, nullptr)) {
    Waiter self{this, mode, std::chrono::steady_clock::now(), &held_by_thread()};
    if (closes_circle(self)) {
      if (queue_.empty()) {
        state_.fetch_and(~kWaitedForBit, std::memory_order_relaxed);
      }
      all.unlock();
      throw Error("ArgumentError",
                  what_ +
                      ": this call would wait forever\n  two threads run jobs whose kernels or "
                      "callbacks call jobs, and each has what the other one needs\n  let "
                      "kernels call plain functions instead of jobs");
    }
    queue_.push_back(&self);
    table().waiters.push_back(&self);
    while (!self.is_granted && !take_between_waiters(mode, &self)) {
      self.wakeup.wait(all);
    }
    queue_.erase(std::find(queue_.begin(), queue_.end(), &self));
    auto& waiters = table().waiters;
    waiters.erase(std::find(waiters.begin(), waiters.end(), &self));
  }
  if (queue_.empty()) {
    state_.fetch_and(~kWaitedForBit, std::memory_order_relaxed);
  } else if (mode == Mode::kShared) {
    wake_next();  // others that wait to share it may have been kept back by a wait that ended
  }
}

// With the table's mutex: whether `waiter` cannot go on before `other`, which waits too, did.
bool JobLock::blocks(const Waiter& other, const Waiter& waiter) {
  for (const Held& held : *other.held) {
    if (held.lock == waiter.lock &&
        (held.mode == Mode::kExclusive || waiter.mode == Mode::kExclusive)) {
      return true;
    }
  }
  return other.lock == waiter.lock && waiter.mode == Mode::kShared &&
         other.mode == Mode::kExclusive;
}

// With the table's mutex: whether the wait of a thread would close a circle of waits. All others in
// it wait already, so the table knows everything about them.
bool JobLock::closes_circle(const Waiter& waiter) {
  std::vector<const Waiter*> reached{&waiter};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (i > 0 && blocks(waiter, *reached[i])) {
      return true;
    }
    for (const Waiter* other : table().waiters) {
      if (blocks(*other, *reached[i]) &&
          std::find(reached.begin(), reached.end(), other) == reached.end()) {
        reached.push_back(other);
      }
    }
  }
  return false;
}

}  // namespace oneop
