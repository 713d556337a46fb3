// python_grad.cpp: gradients and forward-mode rules that are Python functions of tensors.
#include <torch/csrc/autograd/python_variable.h>

#include "python/kernels/python_op.h"
#include "python/kernels/python_spec.h"
#include "torch_host/calls/tensor_rules.h"

namespace py = pybind11;

namespace oneop {
namespace {

py::list wrap_all(const TensorList& tensors) {
  py::list list;
  for (const at::Tensor& tensor : tensors) {
    list.append(tensor.defined() ? py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor))
                                 : py::object(py::none()));
  }
  return list;
}

TensorList unwrap_all(const py::handle& list) {
  TensorList tensors;
  for (const py::handle& item : list) {
    tensors.push_back(item.is_none() ? at::Tensor() : THPVariable_Unpack(item.ptr()));
  }
  return tensors;
}

// The author's function with the counts and attributes of a call filled in, as oneop.authoring
// prepares it.
class PythonGradCall final : public TensorGradCall {
 public:
  PythonGradCall(PyShared function, std::string what, Source source)
      : function_(std::move(function)), what_(std::move(what)), source_(std::move(source)) {}

  TensorList run(const TensorList& saved, const TensorList& grads,
                 const std::vector<bool>& wanted) const override {
    Gil gil;
    try {
      const py::object results =
          py::handle(function_.get())(wrap_all(saved), wrap_all(grads), py::cast(wanted));
      return unwrap_all(results);
    } catch (py::error_already_set& raised) {
      raised.restore();
      throw raised_error(what_, source_);
    }
  }

 private:
  PyShared function_;
  std::string what_;
  Source source_;
};

class PythonGradRule final : public GradRule {
 public:
  PythonGradRule(PyShared bind, std::string what, Source source)
      : bind_(std::move(bind)), what_(std::move(what)), source_(std::move(source)) {}

  std::shared_ptr<const GradCall> bind(const oneop_frame& frame,
                                       const std::vector<uint8_t>& needs_grad) const override {
    Gil gil;
    try {
      py::list inputs;
      for (int32_t a = 0; a < frame.num_inputs; ++a) {
        inputs.append(frame.inputs[a].count);
      }
      py::list outputs;
      for (int32_t a = 0; a < frame.num_outputs; ++a) {
        outputs.append(frame.outputs[a].count);
      }
      const py::object function =
          py::handle(bind_.get())(inputs, outputs, attrs_to_python(frame),
                                  std::vector<bool>(needs_grad.begin(), needs_grad.end()));
      return std::make_shared<PythonGradCall>(share(function.ptr()), what_, source_);
    } catch (py::error_already_set& raised) {
      raised.restore();
      throw raised_error(what_, source_);
    }
  }

 private:
  PyShared bind_;
  std::string what_;
  Source source_;
};

class PythonForwardRule final : public ForwardRule {
 public:
  PythonForwardRule(PyShared function, Source source)
      : function_(std::move(function)), source_(std::move(source)) {}

  TensorList run(const Layout& layout, const c10::IValue* args, const TensorList& primals,
                 const TensorList& tangents, const TensorList& outputs) const override {
    Gil gil;
    try {
      const CallTensors call(layout, args);
      const py::object results = py::handle(function_.get())(
          std::vector<int32_t>(call.counts.begin(), call.counts.end()), wrap_all(primals),
          wrap_all(tangents), wrap_all(outputs), attrs_to_python(layout, args));
      return unwrap_all(results);
    } catch (py::error_already_set& raised) {
      raised.restore();
      throw raised_error("the forward-mode rule of op " + in_quotes(layout.op->name), source_);
    }
  }

 private:
  PyShared function_;
  Source source_;
};

}  // namespace

void set_python_grad(const py::dict& info, GradDef* grad) {
  auto rule = std::make_shared<PythonGradRule>(
      share(py::object(info["bind"]).ptr()),
      "the gradient of op " + oneop::in_quotes(grad->op_type_name), grad->source);
  rule->saves = py::cast<std::vector<std::string>>(info["saves"]);
  grad->rule = std::move(rule);
}

void set_python_forward(const py::dict& info, ForwardDef* forward) {
  forward->rule = std::make_shared<PythonForwardRule>(share(py::object(info["function"]).ptr()),
                                                      forward->source);
}

}  // namespace oneop
