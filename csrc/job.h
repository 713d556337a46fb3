// job.h: a planned job. A flat list of steps over buffers whose addresses never change.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plan.h"

namespace oneop {

class JobProgram {
 public:
  // An op of ours: its kernel is called directly. `args` are those of the torch op, `outputs` the
  // buffers it fills.
  void add_op(const std::string& name, const torch::jit::Stack& args,
              const std::vector<at::Tensor>& outputs, const at::Tensor& tmp);
  // Any other torch op, with all its arguments; what it returns is dropped, so it must write into
  // its arguments.
  void add_torch(const c10::OperatorHandle& op, torch::jit::Stack args);
  // Something only the caller knows how to run.
  void add_function(std::function<void()> function);

  // One run at a time: the buffers are shared. Does not need the GIL.
  void run();
  // Seconds of each step, the least of `count` runs.
  std::vector<double> profile(int count);
  size_t size() const { return steps_.size(); }
  // All steps are kernels written in Python: to let go of the GIL for them would cost two switches.
  bool holds_gil() const { return holds_gil_; }
  std::mutex& mutex() { return mutex_; }

  // The places that hold the address of a buffer, if all its uses are by kernels of ours and it can
  // therefore be anywhere; else nothing. The buffer must be one that shares its memory with no
  // other.
  std::vector<oneop_tensor*> movable_uses(const at::Tensor& buffer);

 private:
  struct OpStep {
    std::shared_ptr<const CallPlan> plan;
    std::vector<oneop_tensor> tensors;
    CallPlan::BoundFrame bound;
    std::vector<at::Tensor> kept;  // what the pointers belong to
    bool has_work = true;
    bool has_stream = false;
  };
  struct TorchStep {
    c10::OperatorHandle op;
    torch::jit::Stack args;
  };
  struct Step {
    std::unique_ptr<OpStep> op;
    std::unique_ptr<TorchStep> torch;
    std::function<void()> function;
  };
  void run_step(Step& step, torch::jit::Stack* stack);
  void follow_stream();

  std::vector<Step> steps_;
  bool holds_gil_ = true;
  std::optional<c10::Device> device_;  // where kernels of ours have a stream
  void* stream_ = nullptr;
  std::mutex mutex_;
};

}  // namespace oneop
