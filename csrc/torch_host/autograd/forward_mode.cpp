// forward_mode.cpp: forward-mode differentiation (jvp, jacfwd) by the rule that an op registers, or
// by what its gradient implies.
#include "torch_host/autograd/forward_mode.h"

#include <ATen/core/Tensor.h>

#include "engine/ops/error.h"
#include "torch_host/autograd/derived_forward.h"
#include "torch_host/calls/tensor_rules.h"

namespace oneop {
namespace {

at::Tensor primal_of(const at::Tensor& tensor) {
  return tensor._fw_grad(/*level=*/0).defined() ? tensor._fw_primal(/*level=*/0) : tensor;
}

// The same arguments without tangents.
torch::jit::Stack primal_arguments(const Layout& layout, const c10::IValue* args) {
  torch::jit::Stack stack(args, args + layout.num_args);
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    if (stack[i].isTensor()) {
      stack[i] = primal_of(stack[i].toTensor());
    } else if (layout.inputs[i] == Layout::Input::kList) {
      c10::List<at::Tensor> list;
      for (const c10::IValue& item : args[i].toListRef()) {
        list.push_back(primal_of(item.toTensor()));
      }
      stack[i] = std::move(list);
    }
  }
  return stack;
}

}  // namespace

void compute_forward_mode(const TorchOp& op, const c10::OperatorHandle& handle,
                          c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  const std::shared_ptr<const ForwardDef> forward = record->forward;
  if (forward == nullptr && record->grad == nullptr) {
    throw Error("OpNotImplementedError",
                "op " + in_quotes(layout.op->name) +
                    " has no rule for forward-mode differentiation (jvp, jacfwd)\n  use "
                    "reverse mode (grad, jacrev)\n  defined at " +
                    layout.op->source.text());
  }
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  TensorList tangents;
  for (const at::Tensor* tensor : CallTensors(layout, args).tensors) {
    tangents.push_back(tensor->_fw_grad(/*level=*/0));
  }
  const torch::jit::Stack primals = primal_arguments(layout, args);
  const auto call = [&](torch::jit::Stack arguments) {
    compute_autograd(op, handle, keys, &arguments);
    return arguments;
  };
  torch::jit::Stack results;
  TensorList output_tangents;
  if (forward != nullptr) {
    results = call(primals);
    TensorList inputs;
    for (const at::Tensor* tensor : CallTensors(layout, primals.data()).tensors) {
      inputs.push_back(*tensor);
    }
    output_tangents =
        forward->rule->run(layout, primals.data(), inputs, tangents, tensors_of(results));
  } else {
    output_tangents = derive_tangents(layout, primals, tangents, call, &results);
  }
  const TensorList outputs = tensors_of(results);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (output_tangents[i].defined()) {
      outputs[i]._set_fw_grad(output_tangents[i], /*level=*/0, /*is_inplace_op=*/false);
    }
  }
  torch::jit::drop(*stack, layout.num_args);
  stack->insert(stack->end(), results.begin(), results.end());
}

bool has_tangents(const CallTensors& call) {
  for (const at::Tensor* tensor : call.tensors) {
    if (!torch::autograd::impl::get_autograd_meta(*tensor)) {
      continue;
    }
    if (tensor->_fw_grad(/*level=*/0).defined()) {
      return true;
    }
  }
  return false;
}

}  // namespace oneop
