// host_cache.cpp: free lists of blocks, one for each size.
#include "torch_host/memory/host_cache.h"

#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace oneop {
namespace {

// Large blocks are whole huge pages, so that the system can back them with such.
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = size_t{1} << 20;
constexpr size_t kGrain = kHostCacheMinimum;  // smaller blocks are multiples of this
constexpr size_t kPage = 4096;
// Blocks from this size on are mapped, so that freeing one gives its memory back. malloc would keep
// it: it takes large freed blocks as a sign that more will come.
constexpr size_t kMapped = size_t{64} << 10;
// A cache that holds more is emptied when it has not been used for a while.
constexpr size_t kIdleMinimum = size_t{64} << 20;
constexpr auto kIdleTime = std::chrono::seconds(5);

constexpr size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

void* map_block(size_t size) {
  const size_t alignment = size >= kHugePage ? kHugePage : kPage;
  const size_t whole = size + alignment - kPage;
  void* mapped = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    return nullptr;
  }
  const auto begin = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = round_up(begin, alignment);
  if (aligned > begin) {
    munmap(mapped, aligned - begin);
  }
  if (begin + whole > aligned + size) {
    munmap(reinterpret_cast<void*>(aligned + size), begin + whole - aligned - size);
  }
  if (size >= kHugePage) {
    madvise(reinterpret_cast<void*>(aligned), size, MADV_HUGEPAGE);
  }  // advice only: failing costs speed, nothing else
  return reinterpret_cast<void*>(aligned);
}

void* make_block(size_t size) {
  void* data = nullptr;
  if (size >= kMapped) {
    data = map_block(size);
  } else if (posix_memalign(&data, kPage, size) != 0) {
    data = nullptr;
  }
  TORCH_CHECK(data != nullptr, "not enough memory for ", size, " bytes");
  return data;
}

void free_block(void* data, size_t size) {
  if (size >= kMapped) {
    munmap(data, size);
  } else {
    std::free(data);
  }
}

using FreeBlocks = std::map<size_t, std::vector<void*>>;

void free_all(const FreeBlocks& blocks) {
  for (const auto& [size, list] : blocks) {
    for (void* data : list) {
      free_block(data, size);
    }
  }
}

class HostCache final : public c10::Allocator {
 public:
  HostCache();

  c10::DataPtr allocate(size_t bytes) override {
    const size_t size = round_up(bytes, bytes < kLarge ? kGrain : kHugePage);
    void* data = take(size);
    if (data == nullptr) {
      data = make_block(size);
    }
    auto* block = new Block{data, size};
    return {data, block, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    std::memcpy(dest, src, count);
  }

  void set_limit(size_t limit) {
    FreeBlocks dropped;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      limit_ = limit;
      if (held_ > limit_) {
        take_all(&dropped);
      }
    }
    free_all(dropped);
  }
  size_t held() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }
  void clear() {
    FreeBlocks dropped;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      take_all(&dropped);
    }
    free_all(dropped);
  }

  // The child of a fork has the blocks and not the thread.
  void before_fork() { mutex_.lock(); }
  void after_fork(bool is_child) {
    is_watched_ = is_watched_ && !is_child;
    mutex_.unlock();
  }

 private:
  struct Block {
    void* data;
    size_t size;
  };

  static void release(void* context);

  void* take(size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++uses_;
    std::vector<void*>& free_blocks = free_[size];
    if (free_blocks.empty()) {
      return nullptr;
    }
    void* data = free_blocks.back();
    free_blocks.pop_back();
    held_ -= size;
    return data;
  }

  void give_back(void* data, size_t size) {
    FreeBlocks dropped;  // given back to the system without the lock
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++uses_;
      if (held_ + size > limit_) {
        take_all(&dropped);
      }  // other sizes are in the way: they are not asked for any more
      if (held_ + size <= limit_) {
        free_[size].push_back(data);
        held_ += size;
        data = nullptr;
      }
      if (held_ >= kIdleMinimum && !is_watched_) {
        watch();
      }
    }
    if (data != nullptr) {
      free_block(data, size);
    }
    free_all(dropped);
  }

  void take_all(FreeBlocks* blocks) {
    blocks->swap(free_);
    held_ = 0;
  }

  // Starts the thread that empties the cache when it is idle. The thread ends then.
  void watch() {
    try {
      std::thread([this] { empty_when_idle(); }).detach();
      is_watched_ = true;
    } catch (const std::system_error&) {  // no thread to be had: the blocks stay
    }
  }
  void empty_when_idle() {
    FreeBlocks dropped;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      int64_t seen = -1;
      while (seen != uses_) {
        seen = uses_;
        lock.unlock();
        std::this_thread::sleep_for(kIdleTime);
        lock.lock();
      }
      take_all(&dropped);
      is_watched_ = false;
    }
    free_all(dropped);
    malloc_trim(0);
  }

  mutable std::mutex mutex_;
  FreeBlocks free_;
  size_t held_ = 0;
  size_t limit_ = size_t{512} << 20;
  int64_t uses_ = 0;
  bool is_watched_ = false;
};

HostCache& the_cache() {
  static HostCache* cache = new HostCache;  // tensors may outlive main()
  return *cache;
}

HostCache::HostCache() {
  pthread_atfork([] { the_cache().before_fork(); }, [] { the_cache().after_fork(false); },
                 [] { the_cache().after_fork(true); });
}

void HostCache::release(void* context) {
  auto* block = static_cast<Block*>(context);
  the_cache().give_back(block->data, block->size);
  delete block;
}

}  // namespace

c10::Allocator* host_cache() { return &the_cache(); }
void set_host_cache_limit(size_t bytes) { the_cache().set_limit(bytes); }
size_t host_cache_held() { return the_cache().held(); }
void empty_host_cache() {
  the_cache().clear();
  malloc_trim(0);
}

}  // namespace oneop
