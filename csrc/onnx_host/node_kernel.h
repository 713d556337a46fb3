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

  Plan find_plan(const std::vector<ort::Spec>& specs, size_t num_outputs);
  void run(const oneop_plan& plan, const std::vector<void*>& inputs, ort::KernelContext* context);
  void run_dynamic(const oneop_plan& plan, std::vector<void*> data, ort::KernelContext* context);
  // Memory of an output of this shape, `spare` where the node does not use it.
  void* output(ort::KernelContext* context, int32_t index, const oneop_tensor& tensor,
               const int64_t* sizes, std::vector<std::unique_ptr<char[]>>* spare);

  const NodeCall call_;
  std::mutex mutex_;
  std::vector<Known> known_;  // the last calls
  size_t turn_ = 0;
};

// Infers shapes and dtypes of a node's outputs as far as they are known before it runs. Only those
// that every node has: ONNX Runtime neither tells how many there are nor checks the index.
void infer_node(const oneop_op* op, size_t num_required, ort::InferContext* context);

}  // namespace oneop
