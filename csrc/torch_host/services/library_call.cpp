// library_call.cpp: the op is found by its call's names, and run: directly where this thread made
// the same call before, else through the dispatcher.
#include "torch_host/services/library_call.h"

#include <cstddef>
#include <optional>

#include "engine/ops/abi_read.h"
#include "torch_host/autograd/orderly_call.h"
#include "torch_host/calls/results.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// Tensors that the caller holds. To count them again would make torch take the GIL: Python knows
// them.
class BorrowedTensors {
 public:
  BorrowedTensors() = default;
  ~BorrowedTensors() {
    for (at::Tensor& tensor : tensors_) {
      std::move(tensor).unsafeReleaseTensorImpl();
    }
  }
  BorrowedTensors(const BorrowedTensors&) = delete;
  BorrowedTensors& operator=(const BorrowedTensors&) = delete;

  void reserve(size_t count) { tensors_.reserve(count); }
  void push_back(oneop_handle handle) {
    tensors_.emplace_back(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(
        handle == nullptr ? c10::UndefinedTensorImpl::singleton()
                          : static_cast<c10::TensorImpl*>(handle)));
  }
  size_t size() const { return tensors_.size(); }
  const at::Tensor& operator[](size_t i) const { return tensors_[i]; }

 private:
  c10::SmallVector<at::Tensor, 4> tensors_;
};

bool names_device(const oneop_call& call) {
  return call.size > offsetof(oneop_call, device_type) && call.device_type != ONEOP_DEVICE_INVALID;
}

// A call of a library's, in the order of the op's definition.
class Call {
 public:
  Call(const TorchOp& op, const oneop_call& call)
      : op_(op), record_(op.record()), layout_(*record_->layout), call_(call) {
    tensors_.reserve(call.num_inputs);
    const auto& args = layout_.op->inputs;
    size_t expected = 0;
    for (int32_t i = 0; i < call.num_inputs; ++i) {
      size_t arg = expected;
      if (arg >= args.size() || args[arg].name != call.input_names[i]) {
        arg = find_input(call.input_names[i]);
      }
      const bool is_list = layout_.inputs[arg] == Layout::Input::kList;
      expected = is_list ? arg : arg + 1;
      tensors_.push_back(call.inputs[i]);
      arg_of_.push_back(static_cast<int32_t>(arg));
    }
    if (names_device(call)) {
      device_ = to_torch_device(call.device_type, call.device_index);
      check_device();
    }
  }

  void run(oneop_handle* outputs) {
    OutputTensors made;
    if (!run_directly(&made)) {
      run_dispatched(&made);
    }
    hand_out(&made, outputs);
  }

 private:
  // Tensors decide where an op runs; a device that says otherwise would be ignored in silence.
  void check_device() const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].defined() && tensors_[i].device().type() != device_->type()) {
        refuse_argument(layout_, " is called with a tensor on " + tensors_[i].device().str() +
                                     " and for the device " + device_->str() +
                                     "\n  a device is given to calls without tensors");
      }
    }
  }
  size_t find_input(const char* name) const {
    const auto& args = layout_.op->inputs;
    for (size_t a = 0; a < args.size(); ++a) {
      if (args[a].name == name) {
        return a;
      }
    }
    refuse_argument(layout_, " has no input " + in_quotes(name) +
                                 did_you_mean(name, layout_.op->input_names()));
  }

  const oneop_attr* find_attr(const AttrDef& attr) const {
    for (int32_t i = 0; i < call_.num_attrs; ++i) {
      if (attr.name == call_.attrs[i].name) {
        return &call_.attrs[i];
      }
    }
    return nullptr;
  }

  // A number takes the type that the op declares, as in C++; everything else must have it.
  c10::IValue attr_value(const AttrDef& attr, const oneop_attr& given) const {
    if (is_float(attr.type) && (is_float(given.type) || is_integer(given.type))) {
      return is_float(given.type) ? given.value.f : static_cast<double>(given.value.i);
    }
    if (attr.type == ONEOP_ATTR_BOOL && is_integer(given.type)) {
      return given.value.i != 0;
    }
    if (is_integer(attr.type) && is_integer(given.type)) {
      return given.value.i;
    }
    if (attr.type == ONEOP_ATTR_SCALAR && (is_float(given.type) || is_integer(given.type))) {
      return is_float(given.type)            ? c10::IValue(given.value.f)
             : given.type == ONEOP_ATTR_BOOL ? c10::IValue(given.value.i != 0)
                                             : c10::IValue(given.value.i);
    }
    if (attr.is_optional && given.type == ONEOP_ATTR_NONE) {
      return c10::IValue();
    }
    const bool ints = attr.type == ONEOP_ATTR_LIST_INT64 || attr.type == ONEOP_ATTR_SHAPE;
    const bool same =
        ints && (given.type == ONEOP_ATTR_LIST_INT64 || given.type == ONEOP_ATTR_SHAPE);
    if (!attr.takes_type(given.type) && !same) {
      refuse_argument(layout_, ", attribute " + in_quotes(attr.name) + ": expected " +
                                   attr_type_name(attr.type) + ", found " +
                                   attr_type_name(given.type));
    }
    return to_ivalue(AttrValue::copy_of(given));
  }

  void check_attr_names() const {
    for (int32_t i = 0; i < call_.num_attrs; ++i) {
      const std::string name = call_.attrs[i].name;
      bool known = false;
      for (const AttrDef& attr : layout_.op->attrs) {
        known |= attr.name == name;
      }
      if (!known) {
        refuse_argument(layout_, " has no attribute " + in_quotes(name) +
                                     did_you_mean(name, layout_.op->attr_names()));
      }
    }
  }

  bool run_directly(OutputTensors* made) {
    return !device_.has_value() &&
           call_directly(
               op_, *record_, made, [&](size_t a, DirectCall* call) { return add_input(a, call); },
               [&](PlanKey* key) { return add_attrs(key); },
               [&](DirectCall* call) { run_prepared(call); });
  }

  bool add_input(size_t arg, DirectCall* call) const {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (arg_of_[i] == static_cast<int32_t>(arg) && tensors_[i].defined() &&
          !call->add_tensor(tensors_[i])) {
        return false;
      }
    }
    return true;
  }

  bool add_attrs(PlanKey* key) const {
    int32_t used = 0;
    for (size_t i = 0; i < layout_.op->attrs.size(); ++i) {
      const AttrDef& attr = layout_.op->attrs[i];
      const oneop_attr* given = find_attr(attr);
      if (given != nullptr) {
        ++used;
        append_attr_key(attr, attr_value(attr, *given), key);
        continue;
      }
      if (!attr.has_default) {
        return false;
      }
      const PlanKey& words = layout_.attr_default_keys[i];
      key->insert(key->end(), words.begin(), words.end());
    }
    if (used != call_.num_attrs) {
      check_attr_names();
    }
    if (layout_.output_counts_arg >= 0) {
      append_ivalue_key(output_counts(), key);
    }
    return true;
  }

  c10::IValue output_counts() const {
    c10::List<int64_t> counts;
    for (const ArgDef& arg : layout_.op->outputs) {
      int64_t count = 0;
      for (int32_t i = 0; i < call_.num_outputs; ++i) {
        count += arg.name == call_.output_names[i];
      }
      counts.push_back(count == 0 && !arg.is_optional ? arg.count : count);
    }
    return counts;
  }

  void run_dispatched(OutputTensors* made) {
    torch::jit::Stack stack;
    stack.reserve(layout_.num_args);
    for (size_t a = 0; a < layout_.inputs.size(); ++a) {
      push_input(a, &stack);
    }
    check_attr_names();
    for (size_t i = 0; i < layout_.op->attrs.size(); ++i) {
      const AttrDef& attr = layout_.op->attrs[i];
      const oneop_attr* given = find_attr(attr);
      if (given == nullptr && !attr.has_default) {
        refuse_argument(layout_, " needs the attribute " + in_quotes(attr.name) + ", a " +
                                     attr_type_name(attr.type) + "; it has no default");
      }
      stack.push_back(given != nullptr ? attr_value(attr, *given) : layout_.attr_defaults[i]);
    }
    if (layout_.output_counts_arg >= 0) {
      stack.push_back(output_counts());
    }
    if (layout_.device_arg >= 0) {
      stack.push_back(device_.has_value() ? c10::IValue(*device_) : c10::IValue());
    }
    {
      MaybeReleaseGil released(thread_cache());
      op_.dispatch_or_throw(layout_, &stack);
    }
    *made = take_outputs(layout_, &stack);
  }

  void push_input(size_t a, torch::jit::Stack* stack) const {
    c10::List<at::Tensor> list;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (arg_of_[i] == static_cast<int32_t>(a) && tensors_[i].defined()) {
        list.push_back(tensors_[i]);
      }
    }
    const ArgDef& arg = layout_.op->inputs[a];
    if (!arg.takes(static_cast<int64_t>(list.size()))) {
      refuse_argument(layout_, ", input " + in_quotes(arg.name) + ": expected " +
                                   arg.counts_text() + ", found " + std::to_string(list.size()));
    }
    if (layout_.inputs[a] == Layout::Input::kList) {
      stack->emplace_back(std::move(list));
    } else if (list.empty()) {
      stack->emplace_back();
    } else {
      stack->emplace_back(list.get(0));
    }
  }

  // The library names its outputs in an order of its own.
  void hand_out(OutputTensors* made, oneop_handle* outputs) const {
    if (made->size() == 1 && call_.num_outputs == 1 &&
        layout_.op->outputs[0].name == call_.output_names[0]) {
      outputs[0] = give_handle(std::move((*made)[0]));
      return;
    }
    std::vector<int32_t> counts(layout_.fixed_output_counts.begin(),
                                layout_.fixed_output_counts.end());
    if (layout_.returns_list()) {
      counts.clear();
      const c10::IValue list = output_counts();  // its elements live as long as this
      for (const c10::IValue& count : list.toListRef()) {
        counts.push_back(tensor_count(count));
      }
    }
    std::vector<int32_t> places(call_.num_outputs, -1);
    int32_t first = 0;
    for (size_t a = 0; a < counts.size(); first += counts[a], ++a) {
      int32_t next = 0;
      for (int32_t i = 0; i < call_.num_outputs; ++i) {
        if (layout_.op->outputs[a].name == call_.output_names[i] && next < counts[a]) {
          places[i] = first + next++;
        }
      }
    }
    for (int32_t i = 0; i < call_.num_outputs; ++i) {
      if (places[i] < 0) {
        refuse_argument(layout_,
                        " has no such output " + in_quotes(call_.output_names[i]) +
                            did_you_mean(call_.output_names[i], layout_.op->output_names()));
      }
    }
    for (int32_t i = 0; i < call_.num_outputs; ++i) {
      outputs[i] = give_handle(std::move((*made)[places[i]]));
    }
  }

  const TorchOp& op_;
  const RecordPtr record_;
  const Layout& layout_;
  const oneop_call& call_;
  BorrowedTensors tensors_;
  c10::SmallVector<int32_t, 8> arg_of_;
  std::optional<c10::Device> device_;
};

}  // namespace

int32_t dispatch_call(const oneop_call* call, oneop_handle* outputs, oneop_status* status) {
  return guard_service(status, [&] {
    checked_count(call->num_inputs, call->inputs, "oneop_call.num_inputs");
    checked_count(call->num_outputs, outputs, "oneop_call.num_outputs");
    checked_count(call->num_attrs, call->attrs, "oneop_call.num_attrs");
    const TorchOp& op = call->op != nullptr ? *static_cast<const TorchOp*>(call->op)
                                            : TorchOp::find(call->op_type_name);
    if (Replay::is_any() && Replay::current() != nullptr &&
        op.handle().hasTag(at::Tag::nondeterministic_seeded)) {
      refuse_random_in_replay("op " + in_quotes(op.name()));
    }
    if (names_device(*call) || !run_orderly(op, *call, outputs)) {
      Call(op, *call).run(outputs);
    }
  });
}

}  // namespace oneop
