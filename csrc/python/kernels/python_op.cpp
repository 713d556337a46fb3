// python_op.cpp: from descriptions made in Python to the definitions that the registry keeps.
#include "python/kernels/python_op.h"

#include <torch/csrc/Dtype.h>

#include "engine/plans/match.h"
#include "python/calls/python_attr.h"
#include "python/kernels/python_spec.h"
#include "torch_host/calls/calls.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

ArgDef read_arg(const py::handle& item) {
  const auto info = py::cast<py::dict>(item);
  ArgDef arg;
  arg.name = py::cast<std::string>(info["name"]);
  arg.count = py::cast<int32_t>(info["count"]);
  arg.count_is_minimum = py::cast<bool>(info["count_is_minimum"]);
  arg.is_optional = py::cast<bool>(info["is_optional"]);
  arg.dynamic_axes = py::cast<uint32_t>(info["dynamic_axes"]);
  arg.has_gaps = py::cast<bool>(info["has_gaps"]);
  return arg;
}

AttrDef read_attr(const OpDef& op, const py::handle& item) {
  const auto info = py::cast<py::dict>(item);
  AttrDef attr;
  attr.name = py::cast<std::string>(info["name"]);
  attr.type = py::cast<int32_t>(info["type"]);
  attr.is_optional = py::cast<bool>(info["is_optional"]);
  attr.is_positional = py::cast<bool>(info["is_positional"]);
  attr.has_default = py::cast<bool>(info["has_default"]);
  attr.list_size = py::cast<int32_t>(info["list_size"]);
  if (attr.has_default) {
    const py::object value = info["default"];
    const c10::IValue converted = attr_from_python(op, attr, value.ptr());
    attr.default_value = converted.isNone() ? AttrValue() : to_attr(converted, attr.type);
  }
  return attr;
}

std::shared_ptr<OpDef> read_op(const py::dict& info, const std::string& library) {
  auto op = std::make_shared<OpDef>();
  op->name = py::cast<std::string>(info["name"]);
  op->source = read_source(info, library);
  op->flags = py::cast<uint32_t>(info["flags"]);
  for (const py::handle& item : info["inputs"]) {
    op->inputs.push_back(read_arg(item));
  }
  for (const py::handle& item : info["outputs"]) {
    op->outputs.push_back(read_arg(item));
  }
  for (const py::handle& item : info["attrs"]) {
    op->attrs.push_back(read_attr(*op, item));
  }
  set_python_inference(info, op.get());
  return op;
}

std::shared_ptr<KernelDef> read_kernel(const py::dict& info, const std::string& library) {
  auto kernel = std::make_shared<KernelDef>();
  kernel->op_type_name = py::cast<std::string>(info["op"]);
  kernel->source = read_source(info, library);
  kernel->priority = py::cast<int32_t>(info["priority"]);
  kernel->language = py::cast<std::string>(info["language"]);
  kernel->flags = py::cast<uint32_t>(info["flags"]);
  const auto device = py::cast<int32_t>(info["device"]);
  if (device != ONEOP_DEVICE_INVALID) {
    kernel->facts.push_back({ONEOP_FACT_DEVICE, device, 0, "", "device == " + device_name(device)});
  }
  for (const py::handle& item : info["dtypes"]) {
    const auto [arg, dtype] = py::cast<std::pair<std::string, py::object>>(item);
    const int32_t code = to_abi(reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type);
    kernel->facts.push_back({ONEOP_FACT_DTYPE, code, 0, arg, arg + " is " + dtype_name(code)});
  }
  if (!info["when"].is_none()) {
    kernel->facts.push_back({ONEOP_FACT_OTHER, 0, 0, "", py::cast<std::string>(info["when_text"])});
  }
  for (const Fact& fact : kernel->facts) {
    kernel->predicate += (kernel->predicate.empty() ? "" : " and ") + fact.text;
  }
  const auto form = py::cast<std::string>(info["form"]);
  if (form == "numpy") {
    set_numpy_kernel(info, kernel.get());
  } else if (form == "native") {
    set_native_kernel(info, kernel.get());
  } else {
    set_tensor_kernel(info, kernel.get());
  }
  return kernel;
}

const oneop_tensor* find_tensor(const oneop_frame& frame, const std::string& name) {
  for (int32_t i = 0; i < frame.num_inputs; ++i) {
    const oneop_arg& arg = frame.inputs[i];
    if (name == arg.name) {
      return arg.count > 0 ? &frame.tensors[arg.first] : nullptr;
    }
  }
  for (int32_t i = 0; i < frame.num_outputs; ++i) {
    const oneop_arg& arg = frame.outputs[i];
    if (name == arg.name) {
      return arg.count > 0 ? &frame.tensors[arg.first] : nullptr;
    }
  }
  return nullptr;
}

bool facts_hold(const std::vector<Fact>& facts, const oneop_frame& frame) {
  for (const Fact& fact : facts) {
    if (fact.kind == ONEOP_FACT_DEVICE && fact.value != frame.device_type) {
      return false;
    }
    if (fact.kind == ONEOP_FACT_DTYPE) {
      const oneop_tensor* tensor = find_tensor(frame, fact.arg);
      if (tensor == nullptr || tensor->dtype != fact.value) {
        return false;
      }
    }
  }
  return true;
}

int32_t is_matched(void* self, oneop_frame* frame, int32_t* matched, oneop_status* status) {
  const PythonKernel& kernel = *PythonKernel::of(self);
  *matched = facts_hold(kernel.facts, *frame) ? 1 : 0;
  if (*matched == 0 || kernel.when == nullptr) {
    return ONEOP_OK;
  }
  Gil gil;
  try {
    const py::handle when(kernel.when.get());
    const py::object answer =
        when(specs_to_python(*frame, frame->inputs, frame->num_inputs), attrs_to_python(*frame));
    *matched = py::cast<bool>(answer) ? 1 : 0;
    return ONEOP_OK;
  } catch (py::error_already_set& raised) {
    raised.restore();
    return report_raised(status, kernel.source);
  }
}

int32_t create(void* self, oneop_frame*, void** kernel, oneop_status*) {
  *kernel = self;  // the definition outlives it
  return ONEOP_OK;
}

int32_t not_when_empty(void*) { return 0; }

}  // namespace

Source read_source(const py::dict& info, const std::string& library) {
  return {py::cast<std::string>(info["file"]), py::cast<int32_t>(info["line"]), library};
}

void set_matching(const py::dict& info, std::shared_ptr<PythonKernel> python, KernelDef* def) {
  python->source = def->source;
  python->facts = def->facts;
  python->function = share(py::object(info["function"]).ptr());
  if (!info["when"].is_none()) {
    python->when = share(py::object(info["when"]).ptr());
  }
  def->abi.self = python.get();
  def->abi.is_matched = &is_matched;
  def->abi.create = &create;
  def->abi.always_compute = &not_when_empty;
  def->owner = std::move(python);
}

const TensorKernel* find_composition(const OpRecord& record, const CallTensors& call,
                                     bool is_for_autograd) {
  if (call.tensors.empty()) {
    return nullptr;
  }
  const int32_t device = to_abi(call.tensors[0]->device().type());
  const auto dtype_of = [&](const std::string& name) {
    size_t at = 0;
    for (size_t a = 0; a < call.counts.size(); ++a) {
      if (record.op->inputs[a].name == name && call.counts[a] > 0) {
        return to_abi(call.tensors[at]->scalar_type());
      }
      at += call.counts[a];
    }
    return to_abi(call.tensors[0]->scalar_type());  // an output: most follow the first input
  };
  const KernelDef* best = nullptr;
  for (const auto& kernel : record.kernels) {
    const bool fits =
        std::all_of(kernel->facts.begin(), kernel->facts.end(), [&](const Fact& fact) {
          if (fact.kind == ONEOP_FACT_DEVICE) {
            return fact.value == device;
          }
          if (fact.kind == ONEOP_FACT_DTYPE) {
            return fact.value == dtype_of(fact.arg);
          }
          return false;  // a predicate may look at sizes, which nobody knows yet
        });
    const bool is_allowed = requirement_missed(*kernel, required_of_calls()).empty();
    if (fits && is_allowed && (best == nullptr || kernel->priority > best->priority)) {
      best = kernel.get();
    }
  }
  // Launches are not ops: torch can record them, not differentiate them.
  const bool launches = best != nullptr && best->language == "triton";
  return best == nullptr || (launches && is_for_autograd) ? nullptr : best->on_tensors.get();
}

LibraryDefs read_python(const py::dict& description) {
  LibraryDefs defs;
  defs.library = py::cast<std::string>(description["library"]);
  if (!description["op"].is_none()) {
    defs.ops.push_back(read_op(py::cast<py::dict>(description["op"]), defs.library));
  }
  for (const py::handle& item : description["kernels"]) {
    defs.kernels.push_back(read_kernel(py::cast<py::dict>(item), defs.library));
  }
  if (!description["grad"].is_none()) {
    const auto info = py::cast<py::dict>(description["grad"]);
    auto grad = std::make_shared<GradDef>();
    grad->op_type_name = py::cast<std::string>(info["op"]);
    grad->source = read_source(info, defs.library);
    set_python_grad(info, grad.get());
    defs.grads.push_back(std::move(grad));
  }
  if (!description["forward"].is_none()) {
    const auto info = py::cast<py::dict>(description["forward"]);
    auto forward = std::make_shared<ForwardDef>();
    forward->op_type_name = py::cast<std::string>(info["op"]);
    forward->source = read_source(info, defs.library);
    set_python_forward(info, forward.get());
    defs.forwards.push_back(std::move(forward));
  }
  return defs;
}

}  // namespace oneop
