// frame.h: the call frame that callbacks see, with the storage behind it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/ops/defs.h"
#include "engine/ops/host.h"
#include "engine/ops/tensor_meta.h"

namespace oneop {

// What a call gives: everything but the data.
struct CallSpec {
  std::vector<int32_t> input_counts;  // tensors of each input argument
  std::vector<TensorMeta> inputs;
  std::vector<AttrValue> attrs;        // all of the op's, defaults filled in
  std::vector<int32_t> output_counts;  // tensors of each output argument
  int32_t device_type = ONEOP_DEVICE_CPU;
  int32_t device_index = -1;
  uint32_t required = oneop::required();  // of the kernel; torch's host adds what torch asks
};

// A frame for one CallSpec. Shapes have room for ONEOP_MAX_DIMS, so inference can write the
// outputs.
class Frame {
 public:
  Frame(const OpDef& op, const CallSpec& spec);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  oneop_frame* abi() { return &frame_; }
  const oneop_frame& get() const { return frame_; }
  oneop_tensor& tensor(int32_t i) { return tensors_[i]; }
  const oneop_tensor& output(int32_t i) const { return tensors_[frame_.num_input_tensors + i]; }
  oneop_reads& reads() { return reads_; }

  // Runs the op's inference: afterwards the outputs are known. Throws what the author reports, with
  // the op's name.
  void infer();
  // Throws where an input has another number of tensors than the attribute of its gaps says.
  void check_gaps() const;
  // In place of inference: the outputs of a call on a part are as the mesh says. Attributes are
  // checked all the same. Shapes and dtypes, one for each output tensor.
  void set_outputs(const std::vector<std::pair<std::vector<int64_t>, int32_t>>& outputs);
  // The tensor of this argument, or null. For the explanations of the matcher.
  const oneop_tensor* find(const std::string& arg, int32_t index) const;
  // Whether the size of an output depends on data: what stands in the frame is the largest.
  bool has_dynamic_outputs() const { return has_dynamic_outputs_; }
  std::string call_text() const;  // "in: float32[2, 3] -> out: float32[2, 3]"

 private:
  void place_tensors(const CallSpec& spec, int32_t num_inputs);
  void fill_frame(const CallSpec& spec, int32_t num_inputs);
  std::string side_text(const std::vector<oneop_arg>& args) const;
  std::string inputs_beside(const std::string& said) const;
  [[noreturn]] void refuse_dynamic_axis(int32_t output, const oneop_tensor& tensor) const;
  std::string output_fault(const oneop_tensor& tensor) const;  // empty: there is none
  void check_outputs();
  void mark_dynamic();

  const OpDef& op_;
  oneop_frame frame_{};
  oneop_reads reads_{};
  std::vector<oneop_arg> inputs_;
  std::vector<oneop_arg> outputs_;
  std::vector<oneop_tensor> tensors_;
  std::vector<int64_t> dims_;
  std::vector<AttrValue> attr_values_;
  std::vector<std::vector<oneop_span>> spans_;
  std::vector<oneop_attr> attrs_;
  bool has_dynamic_outputs_ = false;
};

// Whether an output that inference described so may have this size along an axis.
inline bool takes_size(const oneop_tensor& output, int32_t axis, int64_t size) {
  const bool may_shrink = (static_cast<uint32_t>(output.is_dynamic) >> axis & 1) != 0;
  return size == output.shape[axis] || (may_shrink && size >= 0 && size < output.shape[axis]);
}

}  // namespace oneop
