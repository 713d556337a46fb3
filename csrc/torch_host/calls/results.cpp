// results.cpp: from outputs to torch's stack and back.
#include "torch_host/calls/results.h"

namespace oneop {

OutputCounts output_counts(const Layout& layout, const c10::IValue* args) {
  OutputCounts counts;
  if (layout.returns_list()) {
    for (const c10::IValue& count : args[layout.output_counts_arg].toListRef()) {
      counts.push_back(tensor_count(count));
    }
  } else {
    counts.append(layout.fixed_output_counts.begin(), layout.fixed_output_counts.end());
  }
  return counts;
}

void push_outputs(const Layout& layout, OutputTensors& outputs, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, layout.num_args);
  if (layout.returns_list()) {
    c10::List<at::Tensor> list;
    list.reserve(outputs.size());
    for (at::Tensor& output : outputs) {
      list.push_back(std::move(output));
    }
    stack->emplace_back(std::move(list));
  } else {
    for (at::Tensor& output : outputs) {
      stack->emplace_back(std::move(output));
    }
  }
}

OutputTensors take_outputs(const Layout& layout, torch::jit::Stack* stack) {
  OutputTensors outputs;
  if (layout.returns_list()) {
    for (at::Tensor& output : stack->back().toTensorVector()) {
      outputs.push_back(std::move(output));
    }
  } else {
    for (c10::IValue& value : *stack) {
      outputs.push_back(std::move(value).toTensor());
    }
  }
  return outputs;
}

OutputTensors outputs_on(const Layout& layout, const OutputCounts& counts,
                         const torch::jit::Stack& stack) {
  OutputTensors outputs;
  if (layout.returns_list()) {
    for (const c10::IValue& item : stack.back().toListRef()) {
      outputs.push_back(item.toTensor());
    }
    return outputs;
  }
  int32_t total = 0;
  for (int32_t count : counts) {
    total += count;
  }
  for (size_t i = stack.size() - total; i < stack.size(); ++i) {
    outputs.push_back(stack[i].toTensor());
  }
  return outputs;
}

}  // namespace oneop
