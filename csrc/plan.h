// plan.h: a call that has been thought through once. A repeated call runs no author's function but
// the kernel.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "frame.h"
#include "part.h"
#include "registry.h"

namespace oneop {

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

 private:
  friend class CallPlan;
  class Turn;
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

class CallPlan {
 public:
  // Infers the outputs and, unless `infer_only`, chooses and creates the kernel.
  CallPlan(RecordPtr record, const CallSpec& spec, bool infer_only);
  // For one device's part of a call on a mesh: the outputs are as `part` says, and the kernel may
  // ask where it runs.
  CallPlan(RecordPtr record, const CallSpec& spec, std::shared_ptr<const Part> part);
  ~CallPlan();

  const OpRecord& record() const { return *record_; }

  int32_t num_inputs() const { return frame_.get().num_input_tensors; }
  int32_t num_outputs() const { return frame_.get().num_output_tensors; }
  const oneop_tensor& output(int32_t i) const { return frame_.output(i); }
  const oneop_tensor& input(int32_t i) const { return frame_.get().tensors[i]; }
  int64_t tmp_bytes() const { return tmp_bytes_; }
  // False where all outputs are empty and the kernel has nothing to do then.
  bool has_work() const { return has_work_; }
  const KernelDef& kernel() const { return instance_->def(); }
  const oneop_frame& frame() const { return frame_.get(); }

  // Runs the kernel. `data` holds the pointers of the inputs, then of the outputs.
  void run(void* const* data, void* tmp, void* stream, void* host_data) const;

  // The two halves of run, for those who call again and again with the same buffers. A BoundFrame
  // points into itself.
  struct BoundFrame {
    BoundFrame() = default;
    BoundFrame(const BoundFrame&) = delete;
    BoundFrame& operator=(const BoundFrame&) = delete;
    oneop_frame frame;
    oneop_tensor tmp;
    int64_t tmp_shape = 0;
    int64_t tmp_stride = 1;
  };
  // `tensors` must have room for all inputs and outputs.
  void bind(BoundFrame* bound, oneop_tensor* tensors, void* const* data, void* tmp, void* stream,
            void* host_data) const;
  void run_bound(oneop_frame* frame) const;
  // Pairs (output, input, is_mutable) of tensors that may share a buffer, as the kernel proposes.
  std::vector<std::array<int32_t, 3>> inplace_proposals() const;

 private:
  friend class PlanCache;
  void choose(const CallSpec& spec);

  RecordPtr record_;                  // keeps all that the frame and the kernel point into
  std::shared_ptr<const Part> part_;  // before the frame, which points into it
  Frame frame_;
  std::shared_ptr<KernelInstance> instance_;
  void* cache_ = nullptr;
  int64_t tmp_bytes_ = 0;
  bool has_work_ = true;
};

using PlanKey = std::vector<int64_t>;

struct PlanKeyHash {
  size_t operator()(const PlanKey& key) const;
};

// The plans of one op record. Its locks are leaf locks: plans and kernels are made and destroyed
// while none is held, since both run the author's code, which may take the GIL or call ops.
class PlanCache {
 public:
  // Then all plans are dropped: shapes that never repeat must not fill the memory.
  static constexpr size_t kLimit = 4096;

  std::shared_ptr<const CallPlan> find(const PlanKey& key) const;
  void insert(const PlanKey& key, std::shared_ptr<const CallPlan> plan);
  size_t size() const;
  // Drops all, and keeps nothing from now on.
  void close();
  // The kernel object for these attributes. One that has state is kept as long as the op's record:
  // state is the author's data, and losing it would change results.
  // It may depend on where the kernel runs, so a part has instances of its own.
  std::shared_ptr<KernelInstance> instance(std::shared_ptr<const KernelDef> kernel, Frame* frame,
                                           const CallSpec& spec, const Part* part);

 private:
  using Plans = std::unordered_map<PlanKey, std::shared_ptr<const CallPlan>, PlanKeyHash>;
  using Instances = std::unordered_map<PlanKey, std::shared_ptr<KernelInstance>, PlanKeyHash>;

  mutable std::mutex mutex_;
  Plans plans_;
  Instances instances_;  // without state
  Instances stateful_;
  bool is_closed_ = false;
};

// The kernel for this frame: predicate, then priority. None or a tie throws with every candidate.
// match.cpp
std::shared_ptr<const KernelDef> choose_kernel(const OpRecord& record, Frame* frame);

}  // namespace oneop
