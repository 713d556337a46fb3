// calls.cpp: from torch's stack to keys and call specs.
#include "torch_host/calls/calls.h"

#include <ATen/Context.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "engine/calls/refusal.h"
#include "engine/frames/arg_counts.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
void refuse_argument(const Layout& layout, const std::string& text) {
  refuse_argument(*layout.op, text);
}

namespace {

std::string dtype_text(c10::ScalarType type) {  // as torch.dtype prints
  std::string name = c10::toString(type);
  if (name.compare(0, 1, "Q") == 0) {
    name[0] = 'q';
  }
  for (char& c : name) {
    c = static_cast<char>(std::tolower(c));
  }
  return name;
}

}  // namespace

CallTensors::CallTensors(const Layout& layout, const c10::IValue* args) {
  const auto add = [&](const c10::IValue& value, size_t arg) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) {
      throw Error("ArgumentError",
                  "op " + in_quotes(layout.op->name) + ", input " +
                      in_quotes(layout.op->inputs[arg].name) +
                      ": expected a tensor, found an undefined one\n  defined at " +
                      layout.op->source.text());
    }
    if (tensor.is_quantized()) {
      throw Error("ArgumentError",
                  "op " + in_quotes(layout.op->name) + ", input " +
                      in_quotes(layout.op->inputs[arg].name) + ": tensors of dtype " +
                      dtype_text(tensor.scalar_type()) +
                      " are not supported\n  convert it: x.dequantize()\n  defined at " +
                      layout.op->source.text());
    }
    if (tensor.is_nested()) {
      refuse_argument(layout, ", input " + in_quotes(layout.op->inputs[arg].name) +
                                  ": nested tensors are not supported\n  call the op on each of "
                                  "x.unbind(), or on x.to_padded_tensor(value)");
    }
    if (tensor.layout() != c10::kStrided) {
      std::ostringstream found;
      found << tensor.layout();
      throw Error("ArgumentError", "op " + in_quotes(layout.op->name) + ", input " +
                                       in_quotes(layout.op->inputs[arg].name) +
                                       ": expected a strided tensor, found layout " + found.str() +
                                       "\n  convert it: x.to_dense()\n  defined at " +
                                       layout.op->source.text());
    }
    tensors.push_back(&tensor);
  };
  for (size_t i = 0; i < layout.inputs.size(); ++i) {
    const size_t before = tensors.size();
    switch (layout.inputs[i]) {
      case Layout::Input::kTensor:
        add(args[i], i);
        break;
      case Layout::Input::kOptional:
        if (!args[i].isNone()) {
          add(args[i], i);
        }
        break;
      case Layout::Input::kList:
        for (const c10::IValue& item : items_of(args[i])) {
          add(item, i);
        }
        break;
    }
    counts.push_back(static_cast<int32_t>(tensors.size() - before));
  }
}

bool is_plain_thread() {
  const auto& local = c10::impl::raw_local_dispatch_key_set;  // zero: nothing beyond the defaults
  return local.included_ == 0 && local.excluded_ == 0 &&
         !at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value();
}

bool is_plain(const at::Tensor& tensor) {
  using c10::DispatchKey;
  constexpr c10::DispatchKeySet known =
      c10::DispatchKeySet({DispatchKey::CPU, DispatchKey::CUDA, DispatchKey::ADInplaceOrView,
                           DispatchKey::AutogradCPU, DispatchKey::AutogradCUDA,
                           // Switched off by default; a thread that has them on is not plain.
                           DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA});
  const uint64_t keys = tensor.key_set().raw_repr();
  return (keys & ~known.raw_repr()) == 0 &&
         tensor.key_set().has(DispatchKey::AutogradFunctionality);
}

namespace {

void append_tensor_key(const Layout& layout, const at::Tensor& tensor, KeyMode mode, PlanKey* key) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::Device device = impl->device();
  key->push_back(static_cast<int64_t>(c10::typeMetaToScalarType(impl->dtype())) |
                 static_cast<int64_t>(impl->dim()) << 8 |
                 static_cast<int64_t>(device.type()) << 16 |
                 static_cast<int64_t>(device.index() + 1) << 24);
  if (mode == KeyMode::kNoShapes) {
    return;
  }
  for (int64_t size : impl->sizes()) {
    key->push_back(size);
  }
  if (layout.op->has_flag(ONEOP_OP_NON_CONTIGUOUS)) {
    for (int64_t step : impl->strides()) {
      key->push_back(step);
    }
  }
}

}  // namespace

uint32_t required_of_calls() {
  const at::Context& torch = at::globalContext();
  if (!torch.deterministicAlgorithms()) {
    return required();
  }
  return required() | kAvoidNondeterministic |
         (torch.deterministicAlgorithmsWarnOnly() ? kWarnOnly : 0);
}

void append_inputs_key(const Layout& layout, const CallTensors& call, KeyMode mode, PlanKey* key) {
  key->push_back(required_of_calls());
  for (int32_t count : call.counts) {
    key->push_back(count);
  }
  for (const at::Tensor* tensor : call.tensors) {
    append_tensor_key(layout, *tensor, mode, key);
  }
}

void append_call_key(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                     KeyMode mode, PlanKey* key) {
  append_inputs_key(layout, call, mode, key);
  const int32_t end = layout.device_arg >= 0 ? layout.device_arg : layout.num_args;
  int32_t next = layout.first_attr;
  for (const AttrDef& attr : layout.op->attrs) {
    append_attr_key(attr, args[next++], key);
  }
  for (; next < end; ++next) {  // the output counts
    append_ivalue_key(args[next], key);
  }
}

bool has_symbolic_sizes(const CallTensors& call) {
  for (const at::Tensor* tensor : call.tensors) {
    if (tensor->unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
      return true;
    }
  }
  return false;
}

namespace {

std::string name_of_input(const OpDef& op, const CallTensors& call, size_t tensor) {
  size_t end = 0;
  for (size_t a = 0; a < call.counts.size(); ++a) {
    end += call.counts[a];
    if (tensor < end) {
      return op.inputs[a].name;
    }
  }
  return "?";
}

}  // namespace

int64_t guard_size(const c10::SymInt& size) { return size.guard_int(__FILE__, __LINE__); }

// long: one walk over the arguments; its steps share the readers of sizes.
CallSpec make_spec(const Layout& layout, const c10::IValue* args, const CallTensors& call,
                   c10::Device device, const SizeReader& read_symbol) {
  const OpDef& op = *layout.op;
  const bool any_strides = op.has_flag(ONEOP_OP_NON_CONTIGUOUS);
  CallSpec spec;
  spec.input_counts.assign(call.counts.begin(), call.counts.end());
  const auto number = [&](const c10::SymInt& size) -> int64_t {
    const auto known = size.maybe_as_int();
    return known ? *known : read_symbol(size);
  };
  for (const at::Tensor* tensor : call.tensors) {
    TensorMeta meta;
    meta.dtype = to_abi(tensor->scalar_type());
    if (meta.dtype == ONEOP_DTYPE_INVALID) {
      throw Error("ArgumentError", "op " + in_quotes(op.name) + ", input " +
                                       in_quotes(name_of_input(op, call, spec.inputs.size())) +
                                       ": tensors of dtype " + dtype_text(tensor->scalar_type()) +
                                       " are not supported\n  defined at " + op.source.text());
    }
    meta.device_type = to_abi(tensor->device().type());
    meta.device_index = tensor->device().index();
    for (const c10::SymInt& size : tensor->sym_sizes()) {
      meta.shape.push_back(number(size));
    }
    if (any_strides) {
      for (const c10::SymInt& step : tensor->sym_strides()) {
        meta.stride.push_back(number(step));
      }
    } else {
      meta.stride = TensorMeta::contiguous_stride(meta.shape);
    }
    spec.inputs.push_back(std::move(meta));
  }
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    spec.attrs.push_back(checked_attr(op, op.attrs[i], args[layout.first_attr + i]));
  }
  if (layout.returns_list()) {
    for (const c10::IValue& count : args[layout.output_counts_arg].toListRef()) {
      spec.output_counts.push_back(tensor_count(count));
    }
    check_output_counts(op, spec.output_counts.size());
  } else {
    spec.output_counts = layout.fixed_output_counts;
  }
  check_counts(op, spec.input_counts, spec.output_counts);
  spec.device_type = to_abi(device.type());
  spec.device_index = device.index();
  spec.required = required_of_calls();
  return spec;
}

}  // namespace oneop
