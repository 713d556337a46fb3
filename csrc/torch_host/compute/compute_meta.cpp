// compute_meta.cpp: inference on fake tensors, whose sizes may be symbols.
#include "torch_host/compute/compute_meta.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "engine/frames/arg_counts.h"
#include "torch_host/calls/bounds.h"
#include "torch_host/calls/calls.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/symbolic.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/compute/call_device.h"
#include "torch_host/compute/output_memory.h"
#include "torch_host/interpreter/trace_hook.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
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

}  // namespace oneop
