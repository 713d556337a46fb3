// kernel_run.cpp: one kernel of an op, whichever would be chosen, run on buffers of the caller's.
// For oneop.testing, which compares kernels and puts guards around what they may write.
#include "python/module/kernel_run.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "engine/ops/host.h"
#include "python/module/call_spec.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/compute/call_device.h"
#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

constexpr size_t kGuard = 256;
constexpr uint8_t kPattern = 0xA5;

// Scratch memory between guards. On devices other than the CPU it is plain memory.
class GuardedScratch final : public ScratchPool {
 public:
  GuardedScratch(c10::Device device, const std::vector<at::Tensor>& tensors)
      : device_(device), tensors_(tensors) {}
  void* allocate(int64_t bytes) override {
    const size_t guard = device_.is_cpu() ? kGuard : 0;
    c10::DataPtr block = c10::GetAllocator(device_.type())->allocate(bytes + 2 * guard);
    char* data = static_cast<char*>(block.get());
    if (guard > 0) {
      std::memset(data, kPattern, bytes + 2 * guard);
    }
    const std::lock_guard<std::mutex> lock(mutex_);  // any thread of the kernel may ask
    blocks_.emplace_back(std::move(block), bytes);
    return data + guard;
  }
  std::shared_ptr<void> owner_of(const void* data) const override {
    for (const at::Tensor& tensor : tensors_) {
      if (tensor.const_data_ptr() == data) {
        return std::make_shared<at::Tensor>(tensor);
      }
    }
    return nullptr;
  }
  // The sizes of blocks whose guards were written, each with the side: -1 before it, 1 after it.
  std::vector<std::pair<int64_t, int>> overrun() const {
    std::vector<std::pair<int64_t, int>> found;
    if (!device_.is_cpu()) {
      return found;
    }
    for (const auto& [block, bytes] : blocks_) {
      const auto* data = static_cast<const uint8_t*>(block.get());
      const auto is_whole = [](const uint8_t* guard) {
        return std::all_of(guard, guard + kGuard, [](uint8_t byte) { return byte == kPattern; });
      };
      if (!is_whole(data)) {
        found.emplace_back(bytes, -1);
      }
      if (!is_whole(data + kGuard + bytes)) {
        found.emplace_back(bytes, 1);
      }
    }
    return found;
  }

 private:
  c10::Device device_;
  const std::vector<at::Tensor>& tensors_;
  std::mutex mutex_;
  std::vector<std::pair<c10::DataPtr, int64_t>> blocks_;
};

class KernelRun {
 public:
  // The kernel at `index` of the op's list, for a call with these arguments of the torch op. Throws
  // KernelNotFoundError if it does not take the call.
  KernelRun(const std::string& name, size_t index, torch::jit::Stack args)
      : record_(with_one_kernel(*Registry::global().get(name), index)),
        layout_(*record_->layout),
        args_(std::move(args)),
        call_(layout_, args_.data()),
        device_(device_of(layout_, args_.data(), call_)) {
    plan_ = std::make_unique<CallPlan>(record_, make_spec(layout_, args_.data(), call_, device_),
                                       false);
  }

  int64_t tmp_bytes() const { return plan_->tmp_bytes(); }
  bool works_on_tensors() const { return plan_->kernel().on_tensors != nullptr; }
  bool has_work() const { return plan_->has_work(); }
  py::list outputs() const {
    py::list list;
    for (int32_t i = 0; i < plan_->num_outputs(); ++i) {
      const oneop_tensor& output = plan_->output(i);
      list.append(py::make_tuple(
          py::tuple(py::cast(std::vector<int64_t>(output.shape, output.shape + output.ndim))),
          to_torch(output.dtype)));
    }
    return list;
  }

  // Runs it and returns the outputs: those given, or for one that works on whole tensors its own.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& outputs, const at::Tensor& tmp) {
    overrun_.clear();
    py::gil_scoped_release released;
    at::AutoDispatchBelowADInplaceOrView below;
    c10::OptionalDeviceGuard guard;
    void* stream = nullptr;
    if (!device_.is_cpu()) {
      guard.reset_device(device_);
      stream = c10::impl::VirtualGuardImpl(device_.type()).getStream(device_).native_handle();
    }
    if (!plan_->has_work()) {
      return outputs;
    }
    if (works_on_tensors()) {
      OutputTensors made;
      plan_->kernel().on_tensors->run(layout_, call_, *plan_, &made);
      return {made.begin(), made.end()};
    }
    std::vector<at::Tensor> tensors;
    std::vector<void*> data;
    for (const at::Tensor* tensor : call_.tensors) {
      if (!layout_.op->has_flag(ONEOP_OP_NON_CONTIGUOUS) && !tensor->is_contiguous()) {
        throw Error("OpRuntimeError",
                    "op " + in_quotes(layout_.op->name) + ": KernelRun takes contiguous inputs");
      }
      tensors.push_back(*tensor);
      data.push_back(const_cast<void*>(tensor->const_data_ptr()));
    }
    for (const at::Tensor& output : outputs) {
      tensors.push_back(output);
      data.push_back(output.mutable_data_ptr());
    }
    GuardedScratch scratch(device_, tensors);
    CallPlan::Shapes shapes;
    plan_->run(data.data(), tmp.defined() ? tmp.mutable_data_ptr() : nullptr, stream,
               static_cast<ScratchPool*>(&scratch), &shapes);
    overrun_ = scratch.overrun();
    std::vector<at::Tensor> made = outputs;
    for (size_t i = 0; i < shapes.size(); ++i) {  // of dynamic sizes: what the kernel made of them
      made[i] = made[i].as_strided(shapes[i], TensorMeta::contiguous_stride(shapes[i]));
    }
    return made;
  }
  // Scratch that the kernel asked for in its last run and wrote beside.
  const std::vector<std::pair<int64_t, int>>& overrun() const { return overrun_; }

 private:
  static RecordPtr with_one_kernel(const OpRecord& whole, size_t index) {
    auto record = std::make_shared<OpRecord>(whole.op);
    record->layout = whole.layout;
    record->kernels = {whole.kernels.at(index)};
    return record;
  }

  const RecordPtr record_;
  const Layout& layout_;
  torch::jit::Stack args_;
  CallTensors call_;
  c10::Device device_;
  std::unique_ptr<CallPlan> plan_;
  std::vector<std::pair<int64_t, int>> overrun_;
};

std::unique_ptr<KernelRun> make_run(const std::string& name, size_t index, const py::tuple& args) {
  return raising([&] {
    const c10::FunctionSchema& schema = TorchOp::find(name).handle().schema();
    torch::jit::Stack stack;
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      stack.push_back(torch::jit::toIValue(args[i], schema.arguments()[i].type()));
    }
    return std::make_unique<KernelRun>(name, index, std::move(stack));
  });
}

}  // namespace

void bind_kernel_run(py::module_& m) {
  py::class_<KernelRun>(m, "KernelRun")
      .def(py::init(&make_run), py::arg("op"), py::arg("kernel"), py::arg("args"))
      .def_property_readonly("tmp_bytes", &KernelRun::tmp_bytes)
      .def_property_readonly("works_on_tensors", &KernelRun::works_on_tensors)
      .def_property_readonly("has_work", &KernelRun::has_work)
      .def_property_readonly("outputs", &KernelRun::outputs)
      .def_property_readonly("overrun", &KernelRun::overrun)
      .def(
          "run",
          [](KernelRun& self, const std::vector<at::Tensor>& outputs,
             const std::optional<at::Tensor>& tmp) {
            return raising([&] { return self.run(outputs, tmp.value_or(at::Tensor())); });
          },
          py::arg("outputs"), py::arg("tmp"));
}

}  // namespace oneop
