// derived_forward.cpp: see derived_forward.h.
#include "torch_host/autograd/derived_forward.h"

#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include "engine/ops/error.h"
#include "torch_host/interpreter/python_throw.h"

namespace oneop {
namespace {

// A tensor that gradients are asked for, and no other one: an op may have the same tensor twice. It
// is not detached, because outer levels of torch.func may ask for gradients through it.
at::Tensor as_variable(const at::Tensor& tensor) {
  at::Tensor variable = at::alias(tensor);
  return variable.requires_grad() ? variable : variable.set_requires_grad(true);
}

// The arguments with variables in place of tensors that have a tangent.
torch::jit::Stack with_variables(const Layout& layout, const torch::jit::Stack& primals,
                                 const TensorList& tangents, TensorList* variables) {
  torch::jit::Stack stack(primals.end() - layout.num_args, primals.end());
  size_t place = 0;
  const auto replaced = [&](const at::Tensor& tensor) {
    if (!tangents[place++].defined()) {
      return tensor;
    }
    variables->push_back(as_variable(tensor));
    return variables->back();
  };
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    if (stack[i].isTensor()) {
      stack[i] = replaced(stack[i].toTensor());
    } else if (layout.inputs[i] == Layout::Input::kList) {
      c10::List<at::Tensor> list;
      for (const c10::IValue& item : primals[primals.size() - layout.num_args + i].toListRef()) {
        list.push_back(replaced(item.toTensor()));
      }
      stack[i] = std::move(list);
    }
  }
  return stack;
}

// One of the two keys is included in the user's function, the other one while a transform works.
bool in_torch_func() {
  return c10::impl::tls_is_dispatch_key_included(
             c10::DispatchKey::FuncTorchDynamicLayerFrontMode) ||
         c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerBackMode);
}

bool needs_gradients(const torch::jit::Stack& primals) {
  for (const c10::IValue& value : primals) {
    if (value.isTensor() && value.toTensor().requires_grad()) {
      return true;
    }
    if (value.isTensorList()) {
      for (const c10::IValue& item : value.toListRef()) {
        if (item.toTensor().requires_grad()) {
          return true;
        }
      }
    }
  }
  return false;
}

void detach(torch::jit::Stack* results) {
  for (c10::IValue& result : *results) {
    if (result.isTensor()) {
      result = result.toTensor().detach();
      continue;
    }
    c10::List<at::Tensor> list;
    for (const c10::IValue& item : result.toListRef()) {
      list.push_back(item.toTensor().detach());
    }
    result = std::move(list);
  }
}

[[noreturn]] void refuse(const Layout& layout, const std::string& reason) {
  throw Error("OpNotImplementedError",
              "op " + in_quotes(layout.op->name) +
                  " has no rule for forward-mode differentiation (jvp, jacfwd), and none can be "
                  "derived\n  " +
                  reason + "\n  use reverse mode (grad, jacrev)\n  defined at " +
                  layout.op->source.text());
}

TensorList differentiate(const Layout& layout, const TensorList& outputs, const TensorList& inputs,
                         const TensorList& weights) {
  try {
    return torch::autograd::grad(outputs, inputs, weights, /*retain_graph=*/true,
                                 /*create_graph=*/true, /*allow_unused=*/true);
  } catch (const std::exception& error) {
    const std::string text = error.what();
    forget_python_error();
    refuse(layout, "its gradient cannot be differentiated: " + text.substr(0, text.find('\n')));
  }
}

}  // namespace

TensorList tensors_of(const torch::jit::Stack& results) {
  TensorList tensors;
  for (const c10::IValue& result : results) {
    if (result.isTensor()) {
      tensors.push_back(result.toTensor());
    } else {
      for (const c10::IValue& item : result.toListRef()) {
        tensors.push_back(item.toTensor());
      }
    }
  }
  return tensors;
}

TensorList derive_tangents(const Layout& layout, const torch::jit::Stack& primals,
                           const TensorList& tangents, const AutogradCall& call,
                           torch::jit::Stack* results) {
  // Where the caller asks for no gradients, the graph that is made here must not show in results.
  // torch.func drops its own levels, and a detach would reach through them to outer ones.
  const bool hides_graph =
      !(at::GradMode::is_enabled() && needs_gradients(primals)) && !in_torch_func();
  const at::AutoGradMode with_gradients(true);
  TensorList variables;
  *results = call(with_variables(layout, primals, tangents, &variables));
  const TensorList outputs = tensors_of(*results);
  if (hides_graph) {
    detach(results);
  }

  TensorList differentiable;
  TensorList cotangents;
  for (const at::Tensor& output : outputs) {
    if (output.requires_grad()) {
      differentiable.push_back(output);
      cotangents.push_back(at::zeros_like(output).set_requires_grad(true));
    }
  }
  TensorList derived(outputs.size());
  if (differentiable.empty()) {
    return derived;
  }
  TensorList given;
  for (const at::Tensor& tangent : tangents) {
    if (tangent.defined()) {
      given.push_back(tangent);
    }
  }
  const TensorList gradients = differentiate(layout, differentiable, variables, cotangents);
  TensorList linear;
  TensorList along;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) {
      continue;  // the outputs do not depend on this input, says the gradient
    }
    if (!gradients[i].requires_grad()) {
      refuse(layout, "autograd does not see how its gradient depends on those of its outputs");
    }
    linear.push_back(gradients[i]);
    along.push_back(given[i]);
  }
  if (linear.empty()) {
    return derived;
  }
  const TensorList products = differentiate(layout, linear, cotangents, along);
  size_t next = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].requires_grad()) {
      derived[i] = products[next++];
    }
  }
  return derived;
}

}  // namespace oneop
