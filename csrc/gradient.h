// gradient.h: the backward graph of one op, as its generator describes it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "frame.h"
#include "plan.h"
#include "registry.h"

namespace oneop {

class GradCall;      // tensor_rules.h
class RecordedCall;  // torch_call.h

// A call of a backward op. Blobs are numbered as in abi.h.
struct GradStep {
  std::string op;
  std::vector<std::vector<int32_t>> inputs;  // blobs of each input argument
  std::vector<AttrValue> attrs;              // all of the op's
  std::vector<int32_t> output_counts;
  int32_t first_output = 0;  // blob of the first output tensor
  int32_t num_outputs = 0;
  // Of a torch op, in place of `op`, `attrs` and `output_counts`; all its blobs are inputs[0].
  std::shared_ptr<const RecordedCall> call;
};

struct GradPlan {
  std::string text;        // whose it is and where that stands, for messages
  int32_t num_inputs = 0;  // tensors of the forward op
  int32_t num_outputs = 0;
  int32_t num_blobs = 0;
  std::vector<GradStep> steps;               // in order, without those that nobody needs
  std::vector<int32_t> grad_of_input;        // blob, or -1 where none was asked for
  std::vector<int32_t> saved;                // forward inputs and outputs that the steps read
  std::vector<uint8_t> reads_grad;           // for each forward output: a step reads its gradient
  std::shared_ptr<const GradCall> function;  // in place of steps

  int32_t first_grad_blob() const { return num_inputs + num_outputs; }
};

// The backward graphs of one op record.
class GradCache {
 public:
  std::shared_ptr<const GradPlan> find(const PlanKey& key) const;
  void insert(const PlanKey& key, std::shared_ptr<const GradPlan> plan);
  void close();  // drops all, and keeps nothing from now on
  // Whether the generator has been seen to look at shapes. Until then its plans serve all shapes.
  std::atomic<bool> reads_shapes{false};

 private:
  using Plans = std::unordered_map<PlanKey, std::shared_ptr<const GradPlan>, PlanKeyHash>;

  mutable std::mutex mutex_;  // a leaf lock, as those of PlanCache
  Plans plans_;
  bool is_closed_ = false;
};

// The plan of a call without differentiable outputs: nothing to do.
GradPlan no_grad_plan(const GradDef& grad, const Frame& frame);

// Runs the generator. `needs_grad` and `has_grad` have one flag for each forward input and output
// tensor.
GradPlan make_grad_plan(const GradDef& grad, Frame* frame, const std::vector<uint8_t>& needs_grad,
                        const std::vector<uint8_t>& has_grad);

}  // namespace oneop
