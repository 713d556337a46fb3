// compute.cpp: the one call path. Infer, match, allocate, run.
#include "torch_host/calls/compute.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <atomic>

#include "engine/frames/arg_counts.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "torch_host/calls/arranged.h"
#include "torch_host/calls/bounds.h"
#include "torch_host/calls/fallback.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/symbolic.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/memory/host_cache.h"
#include "torch_host/memory/scratch_blocks.h"
#include "torch_host/memory/small_cache.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

at::Tensor allocate_output(const oneop_tensor& output, c10::Device device) {
  const c10::IntArrayRef sizes(output.shape, output.ndim);
  const c10::ScalarType dtype = to_torch(output.dtype);
  if (device.is_cpu()) {
    const size_t bytes = output.elem_cnt * c10::elementSize(dtype);
    constexpr c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
    if (bytes - 1 < kSmallCacheMaximum) {  // not for 0, which wraps
      return at::detail::empty_generic(sizes, small_cache(), cpu, dtype, std::nullopt);
    }
    if (bytes < kHostCacheMinimum) {
      return at::detail::empty_cpu(sizes, dtype);
    }
    return at::detail::empty_generic(sizes, host_cache(), cpu, dtype, std::nullopt);
  }
  if (device.is_cuda()) {  // what at::empty comes to, without the dispatcher; the device is current
    constexpr c10::DispatchKeySet cuda(c10::DispatchKey::CUDA);
    return at::detail::empty_generic(sizes, c10::GetAllocator(c10::kCUDA), cuda, dtype,
                                     std::nullopt);
  }
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(device));
}

// Makes an output as small as the kernel left it. Its elements lie at the beginning of its memory,
// which goes with the tensor unless more than half of it would be kept for nothing.
void shrink(const oneop_tensor& largest, const std::vector<int64_t>& shape, at::Tensor* output) {
  if (largest.is_dynamic == 0 || output->sizes() == c10::IntArrayRef(shape)) {
    return;
  }
  const size_t before = output->nbytes();
  output->unsafeGetTensorImpl()->set_sizes_contiguous(shape);
  if (2 * output->nbytes() < before) {
    *output = output->clone();
  } else {
    output->unsafeGetTensorImpl()->unsafe_storage().set_nbytes(output->nbytes());
  }
}

// Scratch memory of a direct call.
class DeviceScratch final : public ScratchPool {
 public:
  DeviceScratch(c10::Device device, const CallTensors& call, const Arranged& inputs,
                const OutputTensors& outputs)
      : blocks_(device.type()), call_(call), inputs_(inputs), outputs_(outputs) {}
  void* allocate(int64_t bytes) override { return blocks_.allocate(bytes); }
  std::shared_ptr<void> owner_of(const void* data) const override {
    for (const at::Tensor* tensor : call_.tensors) {
      if (tensor->const_data_ptr() == data) {
        return std::make_shared<at::Tensor>(*tensor);
      }
    }
    for (const auto* tensors : {&inputs_.copies(), &outputs_}) {
      for (const at::Tensor& tensor : *tensors) {
        if (tensor.const_data_ptr() == data) {
          return std::make_shared<at::Tensor>(tensor);
        }
      }
    }
    return nullptr;
  }

 private:
  ScratchBlocks blocks_;
  const CallTensors& call_;
  const Arranged& inputs_;
  const OutputTensors& outputs_;
};

}  // namespace

namespace {

// Which tensors kernels read in host memory, wherever the others are; empty where there are none.
c10::SmallVector<uint8_t, 8> tensors_on_host(const Layout& layout, const CallTensors& call) {
  c10::SmallVector<uint8_t, 8> on_host;
  if (!layout.has_host_inputs) {
    return on_host;
  }
  for (size_t a = 0; a < layout.inputs.size(); ++a) {
    on_host.append(call.counts[a], layout.op->inputs[a].on_host);
  }
  return on_host;
}

std::atomic<bool> syncs_kernels{false};

}  // namespace

void wait_for_kernel(const std::string& op, const CallPlan& plan, c10::Device device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  try {
    guard.synchronizeStream(guard.getStream(device));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw Error("OpRuntimeError", "op " + in_quotes(op) + ": its kernel at " +
                                      plan.kernel().source.text() + " failed on " + device.str() +
                                      "\n  " + text.substr(0, text.find('\n')) +
                                      "\n  the device is of no more use to this process");
  }
}

void set_kernel_sync(bool is_on) { syncs_kernels = is_on; }
bool kernel_sync() { return syncs_kernels.load(std::memory_order_relaxed); }

namespace {

// What the call gives as `device`. torch.device("cpu:1") is possible, and there is no such device.
c10::Device wanted_device(const Layout& layout, const c10::IValue& value) {
  try {
    const c10::Device device = value.toDevice();
    if (!device.is_cpu() || device.index() <= 0) {
      return device;
    }
  } catch (const c10::Error&) {  // torch's own check of the index, where it is compiled in
  }
  throw Error("ArgumentError", "op " + in_quotes(layout.op->name) +
                                   ", device: there is one cpu, found an index above 0\n  write "
                                   "device=\"cpu\"\n  defined at " +
                                   layout.op->source.text());
}

}  // namespace

c10::Device device_of(const Layout& layout, const c10::IValue* args, const CallTensors& call) {
  if (call.tensors.empty()) {
    const c10::IValue& device = args[layout.device_arg];
    return device.isNone() ? c10::Device(c10::kCPU) : wanted_device(layout, device);
  }
  size_t first = 0;
  const auto on_host = tensors_on_host(layout, call);
  while (first + 1 < on_host.size() && on_host[first]) {
    ++first;
  }
  const c10::Device device = call.tensors[first]->device();
  if (layout.device_arg >= 0 && args != nullptr && !args[layout.device_arg].isNone()) {
    const c10::Device wanted = wanted_device(layout, args[layout.device_arg]);
    const bool same = wanted.type() == device.type() &&
                      (!wanted.has_index() || wanted.index() == device.index() || device.is_cpu());
    if (!same && !device.is_meta()) {  // of fake tensors only torch knows the device
      throw Error("ArgumentError", "op " + in_quotes(layout.op->name) + ", device: expected " +
                                       device.str() + ", where its inputs are, found " +
                                       wanted.str() + "\n  defined at " + layout.op->source.text());
    }
  }
  for (size_t i = first + 1; i < call.tensors.size(); ++i) {
    if (call.tensors[i]->device() == device || (i < on_host.size() && on_host[i])) {
      continue;
    }
    std::string lines;
    size_t at = 0;
    for (size_t a = 0; a < layout.op->inputs.size(); ++a) {
      for (int32_t k = 0; k < call.counts[a] && k < 2; ++k) {
        lines += "\n  " + layout.op->inputs[a].name +
                 (call.counts[a] > 1 ? " " + std::to_string(k) : "") + ": " +
                 call.tensors[at + k]->device().str();
      }
      at += call.counts[a];
    }
    throw Error("ArgumentError", "op " + in_quotes(layout.op->name) +
                                     ": its inputs are on different devices" + lines +
                                     "\n  move them to one device: x.to(device)\n  defined at " +
                                     layout.op->source.text());
  }
  return device;
}

std::shared_ptr<const CallPlan> find_plan(const TorchOp& op, const RecordPtr& record,
                                          const c10::IValue* args, const CallTensors& call,
                                          c10::Device device) {
  const Layout& layout = *record->layout;
  ThreadCache& cache = thread_cache();
  PlanKey& key = cache.key(0);
  append_call_key(layout, args, call, KeyMode::kFull, &key);
  if (call.tensors.empty()) {
    key.push_back(static_cast<int64_t>(device.type()) << 8 | (device.index() + 1));
  }
  if (const LastCall& last = cache.call(op.id());
      last.plan != nullptr && &last.plan->record() == record.get() && last.key == key) {
    return last.plan;
  }
  PlanKey own_key = key;  // from here on authors' code may run and call ops, which use the buffer
  std::shared_ptr<const CallPlan> plan = record->plans->find(own_key);
  if (plan == nullptr) {
    CallSpec spec = make_spec(layout, args, call, device);
    // The key's first word. Another thread may have changed what is required since it was made; a
    // plan under the key of another requirement would stay there.
    spec.required = static_cast<uint32_t>(own_key.front());
    plan = std::make_shared<const CallPlan>(record, spec, false);
    record->plans->insert(own_key, plan);
  }
  // What stands there is destroyed last: its destructors may be the authors'.
  LastCall replaced = std::exchange(cache.call(op.id()), {std::move(own_key), plan, nullptr, {}});
  return plan;
}

namespace {

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
               c10::Device device, OutputTensors* outputs);

}  // namespace

void run_plan(const Layout& layout, const CallTensors& call, const CallPlan& plan,
              c10::Device device, OutputTensors* outputs) {
  if (!layout.mutates) {
    return run_apart(layout, call, plan, device, outputs);
  }
  OutputTensors copies;
  run_apart(layout, read_before_change(layout, call, &copies), plan, device, outputs);
}

namespace {

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
  DeviceScratch scratch(device, call, inputs, *outputs);
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

void compute(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
             torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  leave_dispatch(op);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  const CallTensors call(layout, args);
  const c10::Device device = device_of(layout, args, call);
  std::shared_ptr<const CallPlan> plan;
  try {
    plan = find_plan(op, record, args, call, device);
  } catch (const Error& error) {
    if (!falls_back(error, device)) {
      throw;
    }
  }
  if (plan == nullptr) {
    return compute_on_cpu(op, layout, handle, keys, device, stack, &oneop::compute);
  }
  OutputTensors outputs;
  run_plan(layout, call, *plan, device, &outputs);
  push_outputs(layout, outputs, stack);
}

namespace {

// Inference that works on symbols has no frame, which would look at them.
void check_gaps(const Layout& layout, const c10::IValue* args, const CallTensors& call) {
  for (size_t i = 0; layout.has_gaps && i < layout.inputs.size(); ++i) {
    const int32_t attr = layout.op->gap_attr(i);
    const auto items =
        attr < 0 ? c10::ArrayRef<c10::IValue>() : items_of(args[layout.first_attr + attr]);
    if (!items.empty()) {
      const auto count = std::count_if(items.begin(), items.end(),
                                       [](const c10::IValue& item) { return item.toBool(); });
      check_gap_count(*layout.op, i, call.counts[i], count);
    }
  }
}

void note_unstored(const Layout& layout, const c10::IValue* args) {
  const std::vector<AttrDef>& attrs = layout.op->attrs;
  for (size_t i = 0; i < attrs.size(); ++i) {
    const c10::IValue& value = args[layout.first_attr + i];
    if (attrs[i].is_optional && value.isIntList() && value.toListRef().empty()) {
      tell_unstored(layout.op->name, attrs[i].name, "empty list");
    } else if (attrs[i].type == ONEOP_ATTR_SCALAR && (value.isBool() || value.isComplexDouble())) {
      tell_unstored(layout.op->name, attrs[i].name, value.isBool() ? "bool" : "complex");
    }
  }
}

}  // namespace

void compute_meta(const TorchOp& op, const c10::OperatorHandle&, c10::DispatchKeySet,
                  torch::jit::Stack* stack) {
  op.note_traced();
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  leave_dispatch(op);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  note_unstored(layout, args);
  const CallTensors call(layout, args);
  device_of(layout, args, call);  // torch comes here for a mix of devices too
  if (layout.op->has_dynamic_outputs()) {
    BoundsScope::note(*layout.op);
  }
  check_gaps(layout, args, call);
  if (layout.op->symbolic != nullptr) {
    OutputTensors outputs = layout.op->symbolic->infer(layout, args, call);
    return push_outputs(layout, outputs, stack);
  }
  const c10::Device meta(c10::kMeta);
  OutputTensors outputs;
  if (has_symbolic_sizes(call)) {
    if (const auto inferred = infer_symbolic(*record, layout, args, call)) {
      for (const SymbolicOutput& output : *inferred) {
        outputs.push_back(at::empty_symint(
            output.sizes, at::TensorOptions().dtype(to_torch(output.dtype)).device(meta)));
      }
      push_outputs(layout, outputs, stack);
      return;
    }
  }
  const CallPlan plan(record, make_spec(layout, args, call, meta), true);
  if (plan.has_dynamic_outputs()) {
    BoundsScope::note(*layout.op);
  }
  for (int32_t i = 0; i < plan.num_outputs(); ++i) {
    outputs.push_back(allocate_output(plan.output(i), meta));
  }
  push_outputs(layout, outputs, stack);
}

void select_backend(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  c10::DispatchKeySet next =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect);
  const CallTensors call(layout, args);
  if (call.tensors.empty()) {
    const c10::Device device = device_of(layout, args, call);
    next = next | c10::DispatchKeySet(c10::computeDispatchKey(
                      c10::typeMetaToScalarType(c10::get_default_dtype()), c10::kStrided, device));
  }
  handle.redispatchBoxed(next, stack);
}

}  // namespace oneop
