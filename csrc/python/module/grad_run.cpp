// grad_run.cpp: one gradient of an op, whichever would be used, run on tensors of the caller's. For
// oneop.testing, which compares the two kinds of gradient.
#include "python/module/grad_run.h"

#include <torch/csrc/jit/python/pybind_utils.h>

#include "engine/ops/error.h"
#include "python/module/call_spec.h"
#include "torch_host/autograd/autograd.h"
#include "torch_host/autograd/bound_grad.h"

namespace py = pybind11;

namespace oneop {
namespace {

using OptionalTensors = std::vector<std::optional<at::Tensor>>;

// Gradients of the inputs for a call with these arguments of the torch op, from those of its
// outputs. `outputs` are what the call returned; `needs` has a flag for each input tensor.
OptionalTensors run_gradient(const std::string& name, bool is_eager, const py::tuple& args,
                             const std::vector<at::Tensor>& outputs,
                             const OptionalTensors& output_grads, const std::vector<bool>& needs) {
  return raising([&] {
    const TorchOp& op = TorchOp::find(name);
    const RecordPtr record = op.record();
    const GradDef* grad = record->grad.get();
    if (grad != nullptr && is_eager) {
      grad = grad->eager.get();
    }
    if (grad == nullptr) {
      throw Error("GradientNotFoundError", "op " + in_quotes(name) + " has no " +
                                               (is_eager ? "second gradient" : "gradient"));
    }
    const auto& arguments = op.handle().schema().arguments();
    torch::jit::Stack stack;
    for (size_t i = 0; i < arguments.size(); ++i) {
      stack.push_back(torch::jit::toIValue(args[i], arguments[i].type()));
    }
    const CallTensors call(*record->layout, stack.data());
    bool read_shapes = false;
    const auto plan =
        make_plan(*grad, *record->layout, stack.data(), call,
                  std::vector<uint8_t>(needs.begin(), needs.end()), guard_size, &read_shapes);
    torch::autograd::variable_list saved;
    for (int32_t blob : plan->saved) {
      saved.push_back(blob < plan->num_inputs ? *call.tensors[blob]
                                              : outputs.at(blob - plan->num_inputs));
    }
    torch::autograd::variable_list grads;
    for (const auto& one : output_grads) {
      grads.push_back(one.value_or(at::Tensor()));
    }
    OptionalTensors results;
    py::gil_scoped_release released;
    for (at::Tensor& result : BoundGradPlan::bind(plan)->run_saved(saved, grads, {})) {
      results.push_back(result.defined() ? std::optional<at::Tensor>(std::move(result))
                                         : std::nullopt);
    }
    return results;
  });
}

}  // namespace

void bind_grad_run(py::module_& m) {
  m.def("run_gradient", &run_gradient, py::arg("op"), py::arg("is_eager"), py::arg("args"),
        py::arg("outputs"), py::arg("output_grads"), py::arg("needs"));
}

}  // namespace oneop
