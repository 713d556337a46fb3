// call_device.cpp: what a call gives as its device, beside where its tensors are.
#include "torch_host/compute/call_device.h"

#include <string>

#include "engine/ops/error.h"

namespace oneop {
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

}  // namespace oneop
