// job.cpp: running planned steps.
#include "torch_host/jobs/job.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <algorithm>
#include <chrono>

#include "engine/ops/error.h"
#include "torch_host/calls/calls.h"
#include "torch_host/compute/call_device.h"
#include "torch_host/compute/compute.h"
#include "torch_host/compute/kernel_sync.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

bool overlaps(const at::Tensor& tensor, const void* data, size_t bytes) {
  const char* begin = static_cast<const char*>(data);
  const char* own = static_cast<const char*>(tensor.const_data_ptr());
  return own < begin + bytes && begin < own + tensor.nbytes();
}

bool mentions(const c10::IValue& value, const void* data, size_t bytes) {
  if (value.isTensor()) {
    return value.toTensor().defined() && overlaps(value.toTensor(), data, bytes);
  }
  if (!value.isList()) {
    return false;
  }
  const auto items = value.toListRef();
  return std::any_of(items.begin(), items.end(),
                     [&](const c10::IValue& item) { return mentions(item, data, bytes); });
}

void* current_stream(c10::Device device) {
  return device.is_cpu()
             ? nullptr
             : c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
}

// The buffers were planned from an earlier look at the op. One that was registered again since may
// give other outputs, and its kernel would write beyond them.
void check_buffers(const std::string& op, const CallPlan& plan,
                   const std::vector<at::Tensor>& outputs, const at::Tensor& tmp) {
  bool fits = outputs.size() == static_cast<size_t>(plan.num_outputs()) &&
              (tmp.defined() ? tmp.nbytes() : 0) >= static_cast<size_t>(plan.tmp_bytes());
  for (size_t i = 0; fits && i < outputs.size(); ++i) {
    const oneop_tensor& output = plan.output(static_cast<int32_t>(i));
    fits = outputs[i].scalar_type() == to_torch(output.dtype) &&
           outputs[i].sizes() == c10::IntArrayRef(output.shape, output.ndim);
  }
  if (!fits) {
    throw Error("OpRuntimeError",
                "op " + in_quotes(op) + " was registered again while a job with it was planned");
  }
}

// Adds one to step counts. `_foreach_add_` would call torch once for each of them.
void add_one(at::TensorList counts) {
  for (const at::Tensor& count : counts) {
    TORCH_CHECK(count.scalar_type() == at::kFloat && count.numel() == 1,
                "expected a float32 number");
    ++*count.mutable_data_ptr<float>();
  }
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(oneop_jobs, m) {
  m.def("add_one_(Tensor(a!)[] counts) -> ()");
  m.impl("add_one_", c10::DispatchKey::CPU, &add_one);
  m.impl("add_one_", c10::DispatchKey::Meta, [](at::TensorList) {});
}

JobGate::JobGate(const std::string& job, std::shared_ptr<JobLock> variables, bool changes)
    : turn_("job " + in_quotes(job), false),
      variables_(std::move(variables)),
      mode_(changes ? JobLock::Mode::kExclusive : JobLock::Mode::kShared) {}

bool JobGate::try_enter() {
  if (!turn_.try_lock(JobLock::Mode::kExclusive)) {
    return false;
  }
  try {
    if (variables_ == nullptr || variables_->try_lock(mode_)) {
      return true;
    }
  } catch (...) {
    turn_.unlock();
    throw;
  }
  turn_.unlock();
  return false;
}

void JobGate::enter() {
  turn_.lock(JobLock::Mode::kExclusive);
  if (variables_ == nullptr) {
    return;
  }
  try {
    variables_->lock(mode_);
  } catch (...) {
    turn_.unlock();
    throw;
  }
}

void JobGate::leave() {
  if (variables_ != nullptr) {
    variables_->unlock();
  }
  turn_.unlock();
}

void JobProgram::add_op(const std::string& name, const torch::jit::Stack& args,
                        const std::vector<at::Tensor>& outputs, const at::Tensor& tmp) {
  const TorchOp& op = TorchOp::find(name);
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  const CallTensors call(layout, args.data());
  const c10::Device device = device_of(layout, args.data(), call);
  auto step = std::make_unique<OpStep>(device.type());
  step->plan = find_plan(op, record, args.data(), call, device);
  if (step->plan->has_dynamic_outputs()) {  // its frame would need shapes of its own for each run
    throw Error("OpRuntimeError", "op " + in_quotes(name) +
                                      ": a plan cannot hold outputs whose size depends on data");
  }
  check_buffers(name, *step->plan, outputs, tmp);
  std::vector<void*> data;
  for (const at::Tensor* tensor : call.tensors) {
    if (!layout.op->has_flag(ONEOP_OP_NON_CONTIGUOUS) && !tensor->is_contiguous()) {
      throw Error("OpRuntimeError",
                  "op " + in_quotes(name) + ": a planned input is not contiguous");
    }
    step->kept.push_back(*tensor);
    data.push_back(const_cast<void*>(tensor->const_data_ptr()));
  }
  for (const at::Tensor& output : outputs) {
    step->kept.push_back(output);
    data.push_back(output.mutable_data_ptr());
  }
  if (tmp.defined()) {
    step->kept.push_back(tmp);
  }
  step->tensors.resize(data.size());
  step->has_work = step->plan->has_work();
  step->plan->bind(&step->bound, step->tensors.data(), data.data(),
                   tmp.defined() ? tmp.mutable_data_ptr() : nullptr, current_stream(device),
                   static_cast<ScratchPool*>(&step->scratch));
  holds_gil_ = holds_gil_ && step->plan->kernel().holds_gil;
  if (!device.is_cpu()) {
    device_ = device;
    stream_ = step->bound.frame.stream;
    step->has_stream = true;
  }
  steps_.push_back({std::move(step), nullptr, nullptr});
}

void JobProgram::add_torch(const c10::OperatorHandle& op, torch::jit::Stack args) {
  holds_gil_ = false;
  steps_.push_back({nullptr, std::make_unique<TorchStep>(TorchStep{op, std::move(args)}), nullptr});
}

void JobProgram::add_function(std::function<void()> function) {
  holds_gil_ = false;
  steps_.push_back({nullptr, nullptr, std::move(function)});
}

void JobProgram::run_step(Step& step, torch::jit::Stack* stack) {
  if (step.op != nullptr) {
    if (step.op->has_work) {
      const StepScratch::Turn turn{&step.op->scratch};
      step.op->plan->run_bound(&step.op->bound.frame);
      if (step.op->has_stream && kernel_sync()) {
        wait_for_kernel(step.op->bound.frame.op_type_name, *step.op->plan, *device_);
      }
    }
  } else if (step.torch != nullptr) {
    stack->assign(step.torch->args.begin(), step.torch->args.end());
    step.torch->op.callBoxed(stack);
  } else {
    step.function();
  }
}

// Kernels run where torch's other work of this thread runs now, which a capture changes.
void JobProgram::follow_stream() {
  void* now = device_ ? current_stream(*device_) : nullptr;
  if (now == stream_) {
    return;
  }
  for (Step& step : steps_) {
    if (step.op != nullptr && step.op->has_stream) {
      step.op->bound.frame.stream = now;
    }
  }
  stream_ = now;
}

// Everything that a run needs around its steps, whoever asked for it.
template <typename Act>
void JobProgram::for_each_step(const Act& act) {
  if (!gate_->is_entered()) {
    throw Error("OpRuntimeError", "a job's program is run by a thread that is not in its gate");
  }
  const c10::OptionalDeviceGuard guard(device_);
  follow_stream();
  at::AutoDispatchBelowADInplaceOrView below;
  c10::AutoGradMode no_grad(false);
  // A job was traced without autocast, modes and transforms, and runs without them, wherever it is
  // called.
  using c10::DispatchKey;
  c10::impl::ExcludeDispatchKeyGuard no_modes(
      c10::autocast_dispatch_keyset | c10::python_ks |
      c10::DispatchKeySet({DispatchKey::FuncTorchDynamicLayerFrontMode,
                           DispatchKey::FuncTorchDynamicLayerBackMode}));
  torch::jit::Stack stack;
  size_t i = 0;
  try {
    for (; i < steps_.size(); ++i) {
      act(i, &stack);
    }
  } catch (...) {
    failed_at_ = i;
    throw;
  }
  failed_at_ = i;
}

void JobProgram::run() {
  for_each_step([this](size_t i, torch::jit::Stack* stack) { run_step(steps_[i], stack); });
}

std::vector<double> JobProgram::profile(int count) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(steps_.size(), 1e30);
  for (int k = 0; k < count; ++k) {
    for_each_step([&](size_t i, torch::jit::Stack* stack) {
      const auto start = Clock::now();
      run_step(steps_[i], stack);
      best[i] = std::min(best[i], std::chrono::duration<double>(Clock::now() - start).count());
    });
  }
  return best;
}

std::vector<oneop_tensor*> JobProgram::movable_uses(const at::Tensor& buffer) {
  const void* data = buffer.const_data_ptr();
  const size_t bytes = buffer.nbytes();
  std::vector<oneop_tensor*> uses;
  for (Step& step : steps_) {
    if (step.function != nullptr) {
      return {};
    }
    if (step.torch != nullptr) {
      for (const c10::IValue& value : step.torch->args) {
        if (mentions(value, data, bytes)) {
          return {};
        }
      }
      continue;
    }
    for (size_t i = 0; i < step.op->tensors.size(); ++i) {
      const at::Tensor& tensor = step.op->kept[i];
      if (!overlaps(tensor, data, bytes)) {
        continue;
      }
      // A view into the middle cannot move along.
      if (tensor.const_data_ptr() != data || tensor.nbytes() != bytes) {
        return {};
      }
      uses.push_back(&step.op->tensors[i]);
    }
  }
  return uses;
}

}  // namespace oneop
