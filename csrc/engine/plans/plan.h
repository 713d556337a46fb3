// plan.h: a call that has been thought through once. A repeated call runs no author's function but
// the kernel.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/frames/frame.h"
#include "engine/frames/kernel_instance.h"
#include "engine/frames/part.h"
#include "engine/registry/record.h"

namespace oneop {

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

  // Whether the size of an output depends on data: output() has the largest that is possible.
  bool has_dynamic_outputs() const { return frame_.has_dynamic_outputs(); }
  // The shapes of the outputs as a run left them. Each fits into the memory of output(), densely.
  using Shapes = std::vector<std::vector<int64_t>>;

  // Runs the kernel. `data` holds the pointers of the inputs, then of the outputs. `shapes` must be
  // given where has_dynamic_outputs().
  void run(void* const* data, void* tmp, void* stream, void* host_data,
           Shapes* shapes = nullptr) const;

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
  // `tensors` must have room for all inputs and outputs. Not for plans with dynamic outputs: these
  // need shapes of their own for each run.
  void bind(BoundFrame* bound, oneop_tensor* tensors, void* const* data, void* tmp, void* stream,
            void* host_data) const;
  void run_bound(oneop_frame* frame) const;
  // Pairs (output, input, is_mutable) of tensors that may share a buffer, as the kernel proposes.
  std::vector<std::array<int32_t, 3>> inplace_proposals() const;

 private:
  void choose(const CallSpec& spec);
  void run_dynamic(oneop_frame* frame, Shapes* shapes) const;

  RecordPtr record_;                  // keeps all that the frame and the kernel point into
  std::shared_ptr<const Part> part_;  // before the frame, which points into it
  Frame frame_;
  std::shared_ptr<KernelInstance> instance_;
  void* cache_ = nullptr;
  int64_t tmp_bytes_ = 0;
  bool has_work_ = true;
};

}  // namespace oneop
