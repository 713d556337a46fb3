// job.h: a planned job. A flat list of steps over buffers whose addresses never change.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/Allocator.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/ops/host.h"
#include "engine/plans/job_lock.h"
#include "engine/plans/plan.h"
#include "torch_host/memory/scratch_blocks.h"

namespace oneop {

// What a run of a job has to itself: the job's buffers and, if it uses variables, those of its
// session. Every way to run a job goes through its gate.
class JobGate {
 public:
  // `job` is the job's name. `variables` may be null; `changes` says whether runs change them.
  JobGate(const std::string& job, std::shared_ptr<JobLock> variables, bool changes);

  bool try_enter();  // without waiting
  void enter();      // must not be called with the GIL held
  void leave();
  bool is_entered() const { return turn_.is_held(); }  // by this thread

 private:
  JobLock turn_;
  std::shared_ptr<JobLock> variables_;
  JobLock::Mode mode_;
};

// Scratch memory of a step, while its kernel runs. One thread at a time runs a program: the one in
// its gate.
class StepScratch final : public ScratchPool {
 public:
  explicit StepScratch(c10::DeviceType device) : blocks_(device) {}
  void* allocate(int64_t bytes) override { return blocks_.allocate(bytes); }
  // Gives the memory back when the kernel has returned or thrown.
  struct Turn {
    StepScratch* scratch;
    ~Turn() { scratch->blocks_.clear(); }
  };

 private:
  ScratchBlocks blocks_;
};

class JobProgram {
 public:
  explicit JobProgram(std::shared_ptr<JobGate> gate) : gate_(std::move(gate)) {}

  // An op of oneop: its kernel is called directly. `args` are those of the torch op, `outputs` the
  // buffers it fills.
  void add_op(const std::string& name, const torch::jit::Stack& args,
              const std::vector<at::Tensor>& outputs, const at::Tensor& tmp);
  // Any other torch op, with all its arguments; what it returns is dropped, so it must write into
  // its arguments.
  void add_torch(const c10::OperatorHandle& op, torch::jit::Stack args);
  // Something only the caller knows how to run.
  void add_function(std::function<void()> function);

  // For the thread that is in the gate: the buffers are shared. Does not need the GIL.
  void run();
  // Seconds of each step, the least of `count` runs.
  std::vector<double> profile(int count);
  size_t size() const { return steps_.size(); }
  // The step that threw in the last run; the number of steps if none did. Steps before it are done.
  size_t failed_at() const { return failed_at_; }
  // All steps are kernels written in Python: to let go of the GIL for them would cost two switches.
  bool holds_gil() const { return holds_gil_; }
  JobGate& gate() { return *gate_; }

  // The frame slots that point to `buffer`, if only kernels of oneop use it, so that it can be
  // replaced by another address; empty otherwise. Whoever replaces an address puts the buffer's own
  // back before leaving the gate. The buffer must share its memory with no other.
  std::vector<oneop_tensor*> movable_uses(const at::Tensor& buffer);

 private:
  struct OpStep {
    explicit OpStep(c10::DeviceType device) : scratch(device) {}
    std::shared_ptr<const CallPlan> plan;
    std::vector<oneop_tensor> tensors;
    CallPlan::BoundFrame bound;
    std::vector<at::Tensor> kept;  // what the pointers belong to
    StepScratch scratch;           // the frame points to it
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
  template <typename Act>
  void for_each_step(const Act& act);
  void run_step(Step& step, torch::jit::Stack* stack);
  void follow_stream();

  std::shared_ptr<JobGate> gate_;
  std::vector<Step> steps_;
  size_t failed_at_ = 0;
  bool holds_gil_ = true;
  std::optional<c10::Device> device_;  // where oneop kernels have a stream
  void* stream_ = nullptr;
};

}  // namespace oneop
