// fallback.cpp: on the CPU in place of a device.
#include "torch_host/calls/fallback.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>

#include "torch_host/interpreter/python_throw.h"

namespace oneop {
namespace {

std::atomic<bool> is_allowed{false};

void warn_once(const std::string& op, c10::Device device) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  {
    // Not held for the GIL: whoever has that may be waiting here.
    std::lock_guard<std::mutex> lock(mutex);
    if (!warned.insert(op).second) {
      return;
    }
  }
  warn_python("op " + in_quotes(op) + " has no kernel for " + device.str() +
              ": it runs on the cpu, and its tensors are copied back and forth");
}

c10::IValue moved(const c10::IValue& value, c10::Device device) {
  if (value.isTensor()) {
    return value.toTensor().to(device);
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(tensor.to(device));
    }
    return list;
  }
  return value;
}

}  // namespace

void set_cpu_fallback(bool is_on) { is_allowed = is_on; }

bool falls_back(const Error& error, c10::Device device) {
  return is_allowed && !device.is_cpu() && std::strcmp(error.cls(), "KernelNotFoundError") == 0;
}

void compute_on_cpu(const TorchOp& op, const Layout& layout, const c10::OperatorHandle& handle,
                    c10::DispatchKeySet keys, c10::Device device, torch::jit::Stack* stack,
                    ComputeFunction compute) {
  warn_once(op.name(), device);
  const c10::Device cpu(c10::kCPU);
  const auto first = stack->end() - layout.num_args;
  const torch::jit::Stack given(first, stack->end());
  torch::jit::Stack on_cpu;
  for (int32_t i = 0; i < layout.num_args; ++i) {
    const bool is_device = i == layout.device_arg && given[i].isDevice();
    on_cpu.push_back(is_device ? c10::IValue(cpu) : moved(given[i], cpu));
  }
  const torch::jit::Stack changed = on_cpu;
  compute(op, handle, keys, &on_cpu);
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    if (!layout.op->input_traits[i].is_mutable) {
      continue;
    }
    if (given[i].isTensor()) {
      given[i].toTensor().copy_(changed[i].toTensor());
    } else if (given[i].isTensorList()) {
      const std::vector<at::Tensor> targets = given[i].toTensorVector();
      const std::vector<at::Tensor> values = changed[i].toTensorVector();
      for (size_t k = 0; k < targets.size(); ++k) {
        targets[k].copy_(values[k]);
      }
    }
  }
  torch::jit::drop(*stack, layout.num_args);
  for (const c10::IValue& result : on_cpu) {
    stack->push_back(moved(result, device));
  }
}

}  // namespace oneop
