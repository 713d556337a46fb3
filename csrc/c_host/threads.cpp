// threads.cpp: workers that wait for loops.
#include "c_host/threads.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "engine/ops/error.h"

namespace oneop {
namespace {

thread_local bool is_in_loop = false;

// One loop: pieces are taken by whoever is free. It lives on the stack of its caller, which waits
// until no worker looks at it.
struct Loop {
  int64_t begin;
  int64_t end;
  int64_t step;
  void (*body)(void* context, int64_t b, int64_t e);
  void* context;
  std::atomic<int64_t> next{0};
  int32_t workers = 0;  // that look at it, under the pool's mutex

  void work() {
    is_in_loop = true;
    for (int64_t b = begin + next.fetch_add(step); b < end; b = begin + next.fetch_add(step)) {
      body(context, b, std::min(b + step, end));
    }
    is_in_loop = false;
  }
};

// Workers are started when they are first needed and stay. One loop has them at a time; a second
// one, of another thread, runs on its own thread alone.
class Pool {
 public:
  // False where the workers are busy: nothing was run.
  bool run(Loop* loop, int32_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (loop_ != nullptr) {
      return false;
    }
    while (num_workers_ < count - 1) {
      std::thread([this, id = num_workers_] { serve(id); }).detach();
      ++num_workers_;
    }
    loop_ = loop;
    wanted_ = count - 1;
    ++number_;
    lock.unlock();
    start_.notify_all();
    loop->work();
    lock.lock();
    loop_ = nullptr;  // a worker that has not begun does not begin any more
    done_.wait(lock, [&] { return loop->workers == 0; });
    return true;
  }

 private:
  void serve(int32_t id) {
    uint64_t seen = 0;
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      start_.wait(lock, [&] { return loop_ != nullptr && number_ != seen && id < wanted_; });
      seen = number_;
      Loop* loop = loop_;
      ++loop->workers;
      lock.unlock();
      loop->work();
      lock.lock();
      if (--loop->workers == 0) {
        done_.notify_all();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  Loop* loop_ = nullptr;
  uint64_t number_ = 0;
  int32_t wanted_ = 0;
  int32_t num_workers_ = 0;
};

// Never destroyed: workers outlive main(). A child of fork() has no workers, so it gets a pool of
// its own.
std::atomic<Pool*> current_pool{nullptr};

Pool& pool() {
  static const bool is_set = [] {
    current_pool = new Pool;
    pthread_atfork(nullptr, nullptr, [] { current_pool = new Pool; });
    return true;
  }();
  (void)is_set;
  return *current_pool;
}

std::atomic<int32_t> wanted_threads{0};

}  // namespace

void set_num_threads(int32_t count) {
  if (count < 1 || count > 1024) {
    throw Error("ArgumentError",
                "the number of threads: expected 1 to 1024, found " + std::to_string(count));
  }
  wanted_threads = count;
}

int32_t num_threads() {
  const int32_t wanted = wanted_threads;
  return wanted > 0 ? wanted
                    : std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
}

void run_parallel(int64_t begin, int64_t end, int64_t grain,
                  void (*body)(void* context, int64_t b, int64_t e), void* context) {
  if (begin >= end) {
    return;
  }
  const int64_t size = end - begin;
  const int64_t least = std::max<int64_t>(grain, 1);
  const auto count =
      static_cast<int32_t>(std::min<int64_t>(num_threads(), (size + least - 1) / least));
  if (count > 1 && !is_in_loop) {
    Loop loop{begin, end, (size + count - 1) / count, body, context};
    try {
      if (pool().run(&loop, count)) {
        return;
      }
    } catch (const std::exception&) {  // no more threads are to be had
    }
  }
  body(context, begin, end);
}

}  // namespace oneop
