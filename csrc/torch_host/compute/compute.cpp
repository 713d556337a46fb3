// compute.cpp: the one call path. Infer, match, allocate, run.
#include "torch_host/compute/compute.h"

#include <utility>

#include "engine/ops/error.h"
#include "torch_host/calls/fallback.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/compute/call_device.h"
#include "torch_host/compute/run_plan.h"

namespace oneop {

std::shared_ptr<const CallPlan> find_plan(const TorchOp& op, const RecordPtr& record,
                                          const c10::IValue* args, const CallTensors& call,
                                          c10::Device device) {
  const Layout& layout = *record->layout;
  ThreadCache& cache = thread_cache();
  PlanKey& key = cache.key(0);
  append_call_key(layout, args, call, KeyMode::kFull, &key);
  if (call.tensors.empty()) {
    key.push_back(static_cast<int64_t>(device.type()) << 8 | (device.index() + 1));
  }
  if (const LastCall& last = cache.call(op.id());
      last.plan != nullptr && &last.plan->record() == record.get() && last.key == key) {
    return last.plan;
  }
  PlanKey own_key = key;  // from here on authors' code may run and call ops, which use the buffer
  std::shared_ptr<const CallPlan> plan = record->plans->find(own_key);
  if (plan == nullptr) {
    CallSpec spec = make_spec(layout, args, call, device);
    // The key's first word. Another thread may have changed what is required since it was made; a
    // plan under the key of another requirement would stay there.
    spec.required = static_cast<uint32_t>(own_key.front());
    plan = std::make_shared<const CallPlan>(record, spec, false);
    record->plans->insert(own_key, plan);
  }
  // What stands there is destroyed last: its destructors may be the authors'.
  LastCall replaced = std::exchange(cache.call(op.id()), {std::move(own_key), plan, nullptr, {}});
  return plan;
}

void compute(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
             torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  leave_dispatch(op);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  const CallTensors call(layout, args);
  const c10::Device device = device_of(layout, args, call);
  std::shared_ptr<const CallPlan> plan;
  try {
    plan = find_plan(op, record, args, call, device);
  } catch (const Error& error) {
    if (!falls_back(error, device)) {
      throw;
    }
  }
  if (plan == nullptr) {
    return compute_on_cpu(op, layout, handle, keys, device, stack, &oneop::compute);
  }
  OutputTensors outputs;
  run_plan(layout, call, *plan, device, &outputs);
  push_outputs(layout, outputs, stack);
}

void select_backend(const TorchOp& op, const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack) {
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  c10::DispatchKeySet next =
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect);
  const CallTensors call(layout, args);
  if (call.tensors.empty()) {
    const c10::Device device = device_of(layout, args, call);
    next = next | c10::DispatchKeySet(c10::computeDispatchKey(
                      c10::typeMetaToScalarType(c10::get_default_dtype()), c10::kStrided, device));
  }
  handle.redispatchBoxed(next, stack);
}

}  // namespace oneop
