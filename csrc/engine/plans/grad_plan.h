// grad_plan.h: the backward graph of one op.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/frames/frame.h"
#include "engine/ops/host.h"

namespace oneop {

// A gradient written as a function of tensors, for calls with the same attributes and counts. How
// it runs is the host's.
class GradCall {
 public:
  virtual ~GradCall() = default;
};

class GradRule {
 public:
  virtual ~GradRule() = default;
  virtual std::shared_ptr<const GradCall> bind(const oneop_frame& frame,
                                               const std::vector<uint8_t>& needs_grad) const = 0;
  std::vector<std::string> saves;  // inputs and outputs that the function reads
};

// A call of a backward op. Blobs are numbered as in abi.h.
struct GradStep {
  std::string op;
  std::vector<std::vector<int32_t>> inputs;  // blobs of each input argument
  std::vector<AttrValue> attrs;              // all of the op's
  std::vector<int32_t> output_counts;
  int32_t first_output = 0;  // blob of the first output tensor
  int32_t num_outputs = 0;
  // Of an op of the framework, in place of `op`, `attrs` and `output_counts`; all its blobs are
  // inputs[0].
  std::shared_ptr<const FrameworkCall> call;
};

struct GradPlan {
  // For messages:
  std::string name;                      // "the gradient of op "x""
  std::string place;                     // the file and line where it is registered
  std::vector<std::string> input_names;  // of each input tensor: "x", "xs[1]"

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

}  // namespace oneop
