// node_kernel.h: a node that runs.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "onnx_host/node_call.h"

namespace oneop {

class NodeKernel {
 public:
  NodeKernel(const oneop_op* op, const ort::KernelInfo* info);

  void compute(ort::KernelContext* context);  // from any thread; throws ort::Failure

 private:
  using Plan = std::shared_ptr<const oneop_plan>;
  struct Known {
    std::vector<int64_t> key;
    Plan plan;
  };

  // Throws ort::Failure where the model says something else of the node's tensors than a plan does:
  // what ONNX Runtime worked out of it while the session was made would be wrong.
  void check_said_of_inputs(const std::vector<ort::Spec>& specs) const;
  void check_said_of_outputs(const oneop_plan& plan) const;
  Plan find_plan(const std::vector<ort::Spec>& specs, size_t num_outputs);
  void run(const oneop_plan& plan, const std::vector<void*>& inputs, ort::KernelContext* context);
  void run_dynamic(const oneop_plan& plan, std::vector<void*> data, ort::KernelContext* context);
  // Memory of an output of this shape, `spare` where the node does not use it.
  void* output(ort::KernelContext* context, int32_t index, const oneop_tensor& tensor,
               const int64_t* sizes, std::vector<std::unique_ptr<char[]>>* spare);

  const NodeCall call_;
  // What the model and shape inference say of the node's tensors, ONEOP_DTYPE_INVALID: nothing. No
  // axes: none, or nothing is said of them, which ONNX Runtime does not tell apart.
  const std::vector<ort::Spec> said_of_inputs_;
  const std::vector<ort::Spec> said_of_outputs_;
  std::mutex mutex_;
  std::vector<Known> known_;  // the last calls
  size_t turn_ = 0;
};

// Infers shapes and dtypes of a node's outputs as far as they are known before it runs. Only those
// that every node has: ONNX Runtime neither tells how many there are nor checks the index. Throws
// ort::Failure where it cannot say.
void infer_node(const oneop_op* op, size_t num_required, ort::InferContext* context);

}  // namespace oneop
