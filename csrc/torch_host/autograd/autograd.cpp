// autograd.cpp: recording gradients.
#include "torch_host/autograd/autograd.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "engine/ops/error.h"
#include "engine/plans/gradient.h"
#include "torch_host/autograd/bound_grad.h"
#include "torch_host/autograd/forward_mode.h"
#include "torch_host/autograd/recording.h"
#include "torch_host/calls/calls.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/sharded_calls.h"
#include "torch_host/calls/symbols.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// Which inputs need a gradient, one flag for each tensor.
struct Needs {
  std::vector<uint8_t> flags;
  bool any = false;

  Needs(const Layout& layout, const CallTensors& call) {
    if (!c10::GradMode::is_enabled()) {
      return;
    }
    for (const at::Tensor* tensor : call.tensors) {
      any |= tensor->requires_grad();
    }
    if (!any) {
      return;
    }
    any = false;
    flags.resize(call.tensors.size());
    for_each_tensor(call, [&](size_t arg, size_t i) {
      flags[i] = layout.op->input_traits[arg].requires_grad && call.tensors[i]->requires_grad();
      any |= flags[i] != 0;
    });
  }
};

void run_below(const Layout& layout, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
               torch::jit::Stack* stack) {
  if (layout.mutates) {  // count_changes() is next
    at::AutoDispatchBelowAutograd guard;
    handle.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
    return;
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  handle.redispatchBoxed(keys & c10::after_autograd_keyset & c10::after_ADInplaceOrView_keyset,
                         stack);
}

// What the op writes to must not be part of a graph. The other inputs may be: think of running
// statistics.
void refuse_changing_differentiated(const Layout& layout, const CallTensors& call) {
  if (!c10::GradMode::is_enabled()) {
    return;
  }
  for_each_tensor(call, [&](size_t arg, size_t i) {
    if (layout.op->input_traits[arg].is_mutable && call.tensors[i]->requires_grad()) {
      throw Error("GradientNotFoundError",
                  "op " + in_quotes(layout.op->name) + " changes its input " +
                      in_quotes(layout.op->inputs[arg].name) +
                      " in place, which cannot be differentiated\n  call it under "
                      "torch.no_grad() or on a detached tensor\n  defined at " +
                      layout.op->source.text());
    }
  });
}

std::shared_ptr<const Backward> find_grad_plan(const TorchOp& op, const RecordPtr& held,
                                               const c10::IValue* args, const CallTensors& call,
                                               const std::vector<uint8_t>& needs) {
  const OpRecord& record = *held;
  const Layout& layout = *record.layout;
  GradCache& cache = *record.grad_plans;
  const bool symbolic = has_symbolic_sizes(call);
  const auto make_key = [&]() {
    PlanKey key;
    key.reserve(32);
    const bool by_shape = cache.reads_shapes.load(std::memory_order_relaxed) && !symbolic;
    append_call_key(layout, args, call, by_shape ? KeyMode::kFull : KeyMode::kNoShapes, &key);
    for (uint8_t need : needs) {
      key.push_back(need);
    }
    return key;
  };
  PlanKey key = make_key();
  LastGrad& last = thread_cache().grad(op.id());
  const bool cacheable = !(symbolic && cache.reads_shapes.load(std::memory_order_relaxed));
  if (cacheable) {
    if (last.record == held && last.key == key) {
      return last.plan;
    }
    if (auto plan = cache.find(key)) {
      std::shared_ptr<const Backward> bound = BoundGradPlan::bind(plan);
      LastGrad replaced =
          std::exchange(last, {held, key, bound});  // destroyed when `last` is whole
      return bound;
    }
  }

  bool read_shapes = false;
  std::shared_ptr<const GradPlan> plan;
  if (symbolic && cacheable) {
    // Try without guards: a generator that never looks at the sizes gives the same graph for all.
    const auto peek = [](const c10::SymInt& size) { return hint_of(size).value_or(2); };
    try {
      plan = make_plan(*record.grad, layout, args, call, needs, peek, &read_shapes);
    } catch (const Error&) {
      read_shapes = true;
    }
  }
  if (plan == nullptr || (symbolic && read_shapes)) {
    plan = make_plan(*record.grad, layout, args, call, needs, guard_size, &read_shapes);
  }
  std::shared_ptr<const Backward> bound = BoundGradPlan::bind(plan);
  if (read_shapes) {
    cache.reads_shapes.store(true, std::memory_order_relaxed);
  }
  if (!(symbolic && read_shapes)) {
    key = make_key();
    cache.insert(key, plan);
    LastGrad replaced = std::exchange(last, {held, std::move(key), bound});
  }
  return bound;
}

// Lets torch see the ops of a composition, so that it differentiates those.
void run_composition(const TensorKernel& composition, const Layout& layout, const c10::IValue* args,
                     const CallTensors& call, torch::jit::Stack* stack) {
  OutputTensors outputs = composition.trace(layout, args, call);
  push_outputs(layout, outputs, stack);
}

[[noreturn]] void refuse_missing_gradient(const TorchOp& op) {
  throw Error("GradientNotFoundError", missing_gradient_text(op.name()));
}

}  // namespace

std::shared_ptr<const GradPlan> make_plan(const GradDef& grad, const Layout& layout,
                                          const c10::IValue* args, const CallTensors& call,
                                          const std::vector<uint8_t>& needs,
                                          const SizeReader& read_symbol, bool* read_shapes) {
  const c10::Device device = call.tensors[0]->device();
  Frame frame(*layout.op, make_spec(layout, args, call, device, read_symbol));
  if (grad.rule == nullptr) {
    frame.infer();
  }  // a function asks for nothing of it
  frame.reads() = oneop_reads{sizeof(oneop_reads), 0, 0, 0, 0};
  std::vector<uint8_t> has_grad;
  for (size_t a = 0; a < layout.op->outputs.size(); ++a) {
    const oneop_arg& arg = frame.get().outputs[a];
    for (int32_t k = 0; k < arg.count; ++k) {
      const int32_t dtype = frame.get().tensors[arg.first + k].dtype;
      has_grad.push_back(is_differentiable(layout, a, to_torch(dtype)));
    }
  }
  // Of outputs that nothing can be differentiated through (an int, say) no gradient is ever asked.
  const bool is_asked = grad.rule != nullptr || has_grad.empty() ||
                        std::find(has_grad.begin(), has_grad.end(), 1) != has_grad.end();
  auto plan = is_asked ? std::make_shared<GradPlan>(make_grad_plan(grad, &frame, needs, has_grad))
                       : std::make_shared<GradPlan>(no_grad_plan(grad, frame));
  *read_shapes = frame.reads().shapes != 0;
  return plan;
}

void compute_autograd(const TorchOp& op, const c10::OperatorHandle& handle,
                      c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  const CallTensors call(layout, args);
  const bool is_dual = has_tangents(call);
  if (is_dual && record->forward != nullptr) {
    return compute_forward_mode(op, handle, keys, stack);
  }
  if (layout.mutates) {
    refuse_changing_differentiated(layout, call);
  }
  const Needs needs(layout, call);
  const bool has_grad = record->grad != nullptr;
  if (is_dual || (needs.any && !has_grad && !layout.op->has_flag(ONEOP_OP_NO_GRAD))) {
    const TensorKernel* composition = find_composition(*record, call, true);
    if (composition != nullptr) {
      leave_dispatch(op);
      op.note_traced();
      if (run_sharded_composition(handle, call, layout.num_args, stack)) {
        return;
      }
      return run_composition(*composition, layout, args, call, stack);
    }
  }
  if (is_dual) {
    return compute_forward_mode(op, handle, keys, stack);
  }
  if (!needs.any || layout.op->has_flag(ONEOP_OP_NO_GRAD)) {
    return run_below(layout, handle, keys, stack);
  }

  const auto counts = output_counts(layout, args);
  if (!has_grad) {
    if (!is_in_backward()) {
      refuse_missing_gradient(op);
    }
    // A backward op that nobody may ever differentiate: the error waits until somebody does.
    const NodePtr node = make_missing_gradient_node(op.name(), edges_of(call, needs.flags.data()));
    run_below(layout, handle, keys, stack);
    set_histories(node, layout, counts.data(), outputs_on(layout, counts, *stack));
    return;
  }
  const auto node =
      start_node(op, find_grad_plan(op, record, args, call, needs.flags), call, needs.flags.data());
  const bool is_sharded = is_watched_call(call);
  const TensorList inputs = is_sharded ? copy_tensors(call) : TensorList();
  run_below(layout, handle, keys, stack);
  const OutputTensors outputs = outputs_on(layout, counts, *stack);
  finish_node(node, layout, counts.data(), outputs);
  if (is_sharded) {
    node->set_zeros(show_sharded_call(inputs, outputs));
  }
}

void count_changes(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                   torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  std::vector<at::Tensor> written;
  {
    const CallTensors call(layout, stack->data() + stack->size() - layout.num_args);
    for_each_tensor(call, [&](size_t arg, size_t i) {
      if (layout.op->input_traits[arg].is_mutable) {
        written.push_back(*call.tensors[i]);
      }
    });
  }
  {
    at::AutoDispatchBelowADInplaceOrView guard;
    handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
  }
  for (const at::Tensor& tensor : written) {
    torch::autograd::impl::bump_version(tensor);
  }
}

}  // namespace oneop
