// direct_call.cpp: the shortest way from arguments to a kernel.
#include "torch_host/autograd/direct_call.h"

#include <ATen/SavedTensorHooks.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include "torch_host/calls/results.h"
#include "torch_host/compute/call_device.h"
#include "torch_host/compute/run_plan.h"

namespace oneop {
DirectCall::DirectCall(const TorchOp& op, const OpRecord& record, OutputTensors* outputs)
    : op_(op),
      record_(record),
      layout_(*record.layout),
      cache_(thread_cache()),
      last_(cache_.call(op.id())),
      key_(cache_.key(0)),
      outputs_(*outputs) {}

DirectCall::~DirectCall() {
  if (plan_ != nullptr) {
    last_.give_back(&plan_);
  }
}

bool DirectCall::add_tensor(const at::Tensor& tensor) {
  if (!is_plain(tensor)) {
    return false;
  }
  tensors_.tensors.push_back(&tensor);
  return true;
}

void DirectCall::end_input() {
  const size_t end = tensors_.tensors.size();
  tensors_.counts.push_back(static_cast<int32_t>(end - first_of_input_));
  first_of_input_ = end;
}

void DirectCall::end_inputs() {
  append_inputs_key(layout_, tensors_, KeyMode::kFull, &key_);
  first_attr_word_ = key_.size();
}

bool DirectCall::prepare() {
  if (tensors_.tensors.empty()) {
    return false;
  }
  if (has_tangents(tensors_) || !find_call()) {
    return false;
  }
  plan_ = last_.take_plan();
  bool any = false;
  for (const at::Tensor* tensor : tensors_.tensors) {
    any |= tensor->requires_grad();
  }
  return !any || layout_.op->has_flag(ONEOP_OP_NO_GRAD) || !c10::GradMode::is_enabled() ||
         find_gradient();
}

// Makes this call the thread's last one, if it is not already.
bool DirectCall::find_call() {
  if (last_.plan != nullptr && &last_.plan->record() == &record_ && last_.key == key_) {
    return true;
  }
  std::shared_ptr<const CallPlan> plan = record_.plans->find(key_);
  if (plan == nullptr) {
    return false;
  }
  replaced_plan_ = std::exchange(last_.plan, std::move(plan));
  replaced_grads_[0] = std::exchange(last_.grad, nullptr);
  last_.key = key_;
  return true;
}

bool DirectCall::find_gradient() {
  bool any = false;
  for_each_tensor(tensors_, [&](size_t arg, size_t i) {
    needs_.push_back(layout_.op->input_traits[arg].requires_grad &&
                     tensors_.tensors[i]->requires_grad());
    any |= needs_.back() != 0;
  });
  if (!any) {
    return true;
  }
  if (at::SavedTensorDefaultHooks::get_hooks()) {
    return false;  // saving runs Python, which may resize a tensor whose sizes are in the key
  }
  const bool same = last_.grad != nullptr && std::equal(needs_.begin(), needs_.end(),
                                                        last_.needs.begin(), last_.needs.end());
  if (!same) {
    if (record_.grad == nullptr) {
      return false;
    }
    // The key of autograd.cpp's cache, from the same parts.
    const bool by_shape = record_.grad_plans->reads_shapes.load(std::memory_order_relaxed);
    PlanKey& key = cache_.key(1);
    append_inputs_key(layout_, tensors_, by_shape ? KeyMode::kFull : KeyMode::kNoShapes, &key);
    key.insert(key.end(), key_.begin() + static_cast<int64_t>(first_attr_word_), key_.end());
    for (uint8_t need : needs_) {
      key.push_back(need);
    }
    LastGrad& grad = cache_.grad(op_.id());
    if (grad.record.get() != &record_ || grad.key != key) {
      const std::shared_ptr<const GradPlan> plan = record_.grad_plans->find(key);
      if (plan == nullptr) {
        return false;
      }
      replaced_record_ = std::exchange(grad.record, plan_->record().shared_from_this());
      replaced_grads_[1] = std::exchange(grad.plan, Backward::of(plan));
      grad.key = key;
    }
    last_.grad = grad.plan;
    last_.needs.assign(needs_.begin(), needs_.end());
  }
  grad_ = last_.grad;
  return true;
}

void DirectCall::begin() {
  if (grad_ != nullptr) {
    node_ = start_node(op_, std::move(grad_), tensors_, needs_.data());
  }
}

void DirectCall::compute() {
  at::AutoDispatchBelowADInplaceOrView guard;
  // The key has the device of each tensor. Calls with tensors on several devices have no plan.
  const c10::Device device = layout_.has_host_inputs ? device_of(layout_, nullptr, tensors_)
                                                     : tensors_.tensors[0]->device();
  run_plan(layout_, tensors_, *plan_, device, &outputs_);
}

void DirectCall::end() {
  if (node_ == nullptr) {
    return;
  }
  c10::SmallVector<int32_t, 4> counts;
  for (int32_t a = 0; a < plan_->frame().num_outputs; ++a) {
    counts.push_back(plan_->frame().outputs[a].count);
  }
  finish_node(node_, layout_, counts.data(), outputs_);
}

}  // namespace oneop
