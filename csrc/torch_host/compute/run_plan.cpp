// run_plan.cpp: outputs, arranged inputs, scratch memory, and the kernel.
#include "torch_host/compute/run_plan.h"

#include <ATen/MemoryOverlap.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <memory>
#include <string>

#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "torch_host/calls/arranged.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/compute/kernel_sync.h"
#include "torch_host/compute/output_memory.h"
#include "torch_host/memory/scratch_blocks.h"

namespace oneop {
namespace {

// Scratch memory of a direct call.
class DeviceScratch final : public ScratchPool {
 public:
  DeviceScratch(c10::Device device, const CallTensors& call, Arranged* inputs,
                const OutputTensors& outputs)
      : blocks_(device.type()), call_(call), inputs_(*inputs), outputs_(outputs) {}
  void* allocate(int64_t bytes) override { return blocks_.allocate(bytes); }
  std::shared_ptr<void> owner_of(const void* data) const override {
    for (const at::Tensor* tensor : call_.tensors) {
      if (tensor->const_data_ptr() == data) {
        return std::make_shared<at::Tensor>(*tensor);
      }
    }
    for (const at::Tensor& tensor : outputs_) {
      if (tensor.const_data_ptr() == data) {
        return std::make_shared<at::Tensor>(tensor);
      }
    }
    return inputs_.owner_of(data);
  }

 private:
  ScratchBlocks blocks_;
  const CallTensors& call_;
  Arranged& inputs_;
  const OutputTensors& outputs_;
};

// Invariant: an op reads its inputs as they were before the call, also those that share memory with
// one that it changes. So compilers, which give it copies to change, see the same as eager callers.
CallTensors read_before_change(const Layout& layout, const CallTensors& call,
                               OutputTensors* copies) {
  c10::SmallVector<uint8_t, 8> is_mutable;
  for (size_t a = 0; a < layout.inputs.size(); ++a) {
    is_mutable.append(call.counts[a], layout.op->input_traits[a].is_mutable);
  }
  CallTensors apart = call;
  copies->reserve(call.tensors.size());  // their addresses are taken
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    for (size_t k = 0; k < call.tensors.size(); ++k) {
      if (i == k || !is_mutable[k] || !call.tensors[i]->is_alias_of(*call.tensors[k])) {
        continue;
      }
      if (!is_mutable[i]) {
        copies->push_back(call.tensors[i]->clone());
        apart.tensors[i] = &copies->back();
        break;
      }
      const auto overlap = at::get_overlap_status(*call.tensors[i], *call.tensors[k]);
      if (overlap == at::MemOverlapStatus::Full || overlap == at::MemOverlapStatus::Partial) {
        throw Error("ArgumentError",
                    "op " + in_quotes(layout.op->name) +
                        " changes two of its inputs in place, and they share memory\n  give it "
                        "tensors of their own: x.clone()\n  defined at " +
                        layout.op->source.text());
      }
    }
  }
  return apart;
}

void run_apart(const Layout& layout, const CallTensors& call, const CallPlan& plan,
               c10::Device device, OutputTensors* outputs) {
  c10::OptionalDeviceGuard guard;
  void* stream = nullptr;
  if (!device.is_cpu()) {
    guard.reset_device(device);
    stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle();
  }
  if (plan.kernel().on_tensors != nullptr && plan.has_work()) {
    return plan.kernel().on_tensors->run(layout, call, plan, outputs);
  }
  for (int32_t i = 0; i < plan.num_outputs(); ++i) {
    try {
      outputs->push_back(allocate_output(plan.output(i), device));
    } catch (const c10::Error& error) {
      if (!device.is_cpu()) {
        throw;  // torch.OutOfMemoryError, which programs catch
      }
      throw Error("OpRuntimeError", "op " + in_quotes(layout.op->name) + ", output " +
                                        std::to_string(i) + ": " + error.what_without_backtrace());
    }
  }
  if (!plan.has_work()) {
    return;
  }
  Arranged inputs(layout, call);
  for (const at::Tensor& output : *outputs) {
    inputs.data().push_back(output.unsafeGetTensorImpl()->unsafe_storage().mutable_data());
  }
  DeviceScratch scratch(device, call, &inputs, *outputs);
  void* tmp = plan.tmp_bytes() > 0 ? scratch.allocate(plan.tmp_bytes()) : nullptr;
  CallPlan::Shapes shapes;
  plan.run(inputs.data().data(), tmp, stream, static_cast<ScratchPool*>(&scratch), &shapes);
  if (!device.is_cpu() && kernel_sync()) {
    wait_for_kernel(layout.op->name, plan, device);
  }
  inputs.write_back();
  for (size_t i = 0; i < shapes.size(); ++i) {
    shrink(plan.output(static_cast<int32_t>(i)), shapes[i], &(*outputs)[i]);
  }
}

}  // namespace

void run_plan(const Layout& layout, const CallTensors& call, const CallPlan& plan,
              c10::Device device, OutputTensors* outputs) {
  if (!layout.mutates) {
    return run_apart(layout, call, plan, device, outputs);
  }
  OutputTensors copies;
  run_apart(layout, read_before_change(layout, call, &copies), plan, device, outputs);
}

}  // namespace oneop
