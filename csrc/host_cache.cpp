// host_cache.cpp: free lists of blocks, one for each size.
#include "host_cache.h"

#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace oneop {
namespace {

constexpr size_t kHugePage =
    size_t{2} << 20;  // large blocks are whole ones, so that the system can back them with such
constexpr size_t kLarge = size_t{1} << 20;
constexpr size_t kGrain = kHostCacheMinimum;  // smaller blocks are multiples of this
constexpr size_t kPage = 4096;

constexpr size_t round_up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

class HostCache final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    const size_t size = round_up(bytes, bytes < kLarge ? kGrain : kHugePage);
    void* data = take(size);
    if (data == nullptr) {
      data = make(size);
    }
    auto* block = new Block{data, size};
    return {data, block, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* dest, const void* src, std::size_t count) const override {
    std::memcpy(dest, src, count);
  }

  void set_limit(size_t limit) {
    std::lock_guard<std::mutex> lock(mutex_);
    limit_ = limit;
    if (held_ > limit_) {
      clear();
    }
  }
  size_t held() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }

 private:
  struct Block {
    void* data;
    size_t size;
  };

  static void release(void* context);

  static void* make(size_t size) {
    void* data = nullptr;
    const bool is_large = size >= kHugePage;
    if (posix_memalign(&data, is_large ? kHugePage : kPage, size) != 0) {
      TORCH_CHECK(false, "oneop: not enough memory for an output of ", size, " bytes");
    }
    if (is_large) {
      madvise(data, size, MADV_HUGEPAGE);
    }  // advice only: failing costs speed, nothing else
    return data;
  }

  void* take(size_t size) {
    std::lock_guard<std::mutex> lock(mutex_);
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
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (held_ + size > limit_) {
        clear();
      }  // other sizes are in the way: they are not asked for any more
      if (held_ + size <= limit_) {
        free_[size].push_back(data);
        held_ += size;
        return;
      }
    }
    std::free(data);
  }

  void clear() {
    for (auto& [size, blocks] : free_) {
      for (void* data : blocks) {
        std::free(data);
      }
    }
    free_.clear();
    held_ = 0;
  }

  mutable std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_;
  size_t held_ = 0;
  size_t limit_ = size_t{512} << 20;
};

HostCache& the_cache() {
  static HostCache* cache = new HostCache;  // tensors may outlive main()
  return *cache;
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

}  // namespace oneop
