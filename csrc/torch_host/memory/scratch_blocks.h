// scratch_blocks.h: scratch memory that a kernel asks for while it runs.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/SmallVector.h>

#include <mutex>
#include <utility>

namespace oneop {

// The blocks of one running kernel, from torch's allocator of the device, on its current stream.
// They are allocated by any thread, because the bodies of parallel_for ask for memory too, and
// given back by the thread that called the kernel, after it returned.
class ScratchBlocks {
 public:
  explicit ScratchBlocks(c10::DeviceType device) : device_(device) {}
  void* allocate(int64_t bytes) {
    c10::DataPtr block = c10::GetAllocator(device_)->allocate(bytes);
    void* const data = block.get();
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.push_back(std::move(block));
    return data;
  }
  void clear() { blocks_.clear(); }

 private:
  c10::DeviceType device_;
  std::mutex mutex_;
  c10::SmallVector<c10::DataPtr, 2> blocks_;
};

}  // namespace oneop
