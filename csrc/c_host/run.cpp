// run.cpp: scratch memory, and the kernel.
#include "c_host/run.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include "engine/ops/error.h"
#include "engine/ops/host.h"

namespace oneop {
namespace {

std::atomic<AllocateOnDevice> device_allocate{nullptr};
std::atomic<FreeOnDevice> device_free{nullptr};

constexpr size_t kAlignment = 64;

// The scratch blocks of one running kernel. Threads of parallel_for may ask for memory at once.
class Blocks final : public ScratchPool {
 public:
  Blocks(const oneop_frame& frame, void* stream)
      : on_cpu_(frame.device_type == ONEOP_DEVICE_CPU),
        device_index_(frame.device_index),
        stream_(stream) {}
  ~Blocks() {
    for (void* block : blocks_) {
      on_cpu_ ? std::free(block) : device_free.load()(device_index_, block, stream_);
    }
  }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;

  void* allocate(int64_t bytes) override {
    void* block = on_cpu_ ? allocate_on_cpu(bytes) : allocate_on_device(bytes);
    if (block == nullptr) {
      throw std::bad_alloc();
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    blocks_.push_back(block);
    return block;
  }

 private:
  static void* allocate_on_cpu(int64_t bytes) {
    const size_t size = (static_cast<size_t>(bytes) + kAlignment) / kAlignment * kAlignment;
    return bytes < 0 ? nullptr : std::aligned_alloc(kAlignment, size);
  }
  void* allocate_on_device(int64_t bytes) const {
    const AllocateOnDevice allocate = device_allocate;
    return allocate == nullptr ? nullptr : allocate(device_index_, bytes, stream_);
  }

  const bool on_cpu_;
  const int32_t device_index_;
  void* const stream_;
  std::mutex mutex_;
  std::vector<void*> blocks_;
};

}  // namespace

void set_device_memory(AllocateOnDevice allocate, FreeOnDevice free_block) {
  device_free = free_block;
  device_allocate = allocate;
}

void run_on(const CallPlan& plan, void* const* data, void* scratch, void* stream,
            CallPlan::Shapes* shapes) {
  if (plan.has_dynamic_outputs() && shapes == nullptr) {
    throw Error("OpNotImplementedError",
                "op " + in_quotes(plan.record().op->name) +
                    ": the size of an output depends on data, which this way to call it cannot "
                    "tell\n  defined at " +
                    plan.record().op->source.text());
  }
  if (!plan.has_work()) {
    return;
  }
  Blocks blocks(plan.frame(), stream);
  if (scratch == nullptr && plan.tmp_bytes() > 0) {
    try {
      scratch = blocks.allocate(plan.tmp_bytes());
    } catch (const std::bad_alloc&) {
      throw Error("OpRuntimeError", "op " + in_quotes(plan.record().op->name) + ": " +
                                        std::to_string(plan.tmp_bytes()) +
                                        " bytes of scratch memory cannot be allocated");
    }
  }
  plan.run(data, scratch, stream, static_cast<ScratchPool*>(&blocks), shapes);
}

}  // namespace oneop
