// kernel_instance.h: kernel objects with their state, and where those of one op are kept.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/frames/frame.h"
#include "engine/frames/part.h"
#include "engine/ops/keyed_cache.h"

namespace oneop {

// `op "name", kernel at file:line`, for messages.
std::string kernel_text(const KernelDef& kernel);

// A kernel object with its state. Shared by all calls of one kernel with the same attributes on the
// same device.
class KernelInstance {
 public:
  KernelInstance(std::shared_ptr<const KernelDef> def, Frame* frame);
  ~KernelInstance();
  KernelInstance(const KernelInstance&) = delete;
  KernelInstance& operator=(const KernelInstance&) = delete;

  const KernelDef& def() const { return *def_; }
  bool always_compute() const { return always_compute_; }
  bool has_state() const { return state_ != nullptr; }
  void* kernel() const { return kernel_; }
  void* state() const { return state_; }

  // One call's turn with the state; nothing where the kernel has none. Throws OpRuntimeError where
  // this thread has its turn already.
  class Turn {
   public:
    explicit Turn(KernelInstance* instance)
        : instance_(instance->state_ == nullptr ? nullptr : instance) {
      if (instance_ != nullptr) {
        instance_->begin_turn();
      }
    }
    ~Turn() {
      if (instance_ != nullptr) {
        instance_->end_turn();
      }
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    KernelInstance* instance_;
  };

 private:
  void begin_turn();
  void end_turn();
  void destroy();

  std::shared_ptr<const KernelDef> def_;
  void* kernel_ = nullptr;
  void* state_ = nullptr;
  // State may change in compute, so calls that share it take turns. Held while the author's code
  // runs; the GIL may be taken under it, so nobody waits for it with the GIL held.
  std::mutex state_mutex_;
  std::atomic<std::thread::id> turn_of_{};
  bool always_compute_ = true;
};

// The kernel objects of one op record. Its lock is a leaf lock, as that of KeyedCache.
class KernelCache {
 public:
  // The kernel object for these attributes. One that has state is kept as long as the op's record:
  // state is the author's data, and losing it would change results.
  // It may depend on where the kernel runs, so a part has instances of its own.
  std::shared_ptr<KernelInstance> get(std::shared_ptr<const KernelDef> kernel, Frame* frame,
                                      const CallSpec& spec, const Part* part);
  // Drops all, and keeps nothing from now on.
  void close();

 private:
  using Instances = std::unordered_map<PlanKey, std::shared_ptr<KernelInstance>, PlanKeyHash>;

  std::mutex mutex_;
  Instances stateless_;
  Instances stateful_;
  bool is_closed_ = false;
};

}  // namespace oneop
