// torch_call.cpp: calling torch's ops, now or as a step of a gradient.
#include "torch_host/handles/torch_call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/ops/error.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/torch_arguments.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// torch's rule for a call with tensors on several devices: those without axes follow the others.
const TensorMeta* leader(const std::vector<const TensorMeta*>& inputs) {
  for (const TensorMeta* input : inputs) {
    if (!input->shape.empty()) {
      return input;
    }
  }
  return inputs.empty() ? nullptr : inputs[0];
}

c10::OperatorHandle find_torch_op(const std::string& name) {
  const size_t dot = name.find('.');
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const auto op = c10::Dispatcher::singleton().findSchema({name.substr(0, dot), overload});
  if (!op.has_value()) {
    throw Error("OpNotFoundError", "torch has no op " + in_quotes(name));
  }
  return *op;
}

std::vector<at::Tensor> take_results(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  std::vector<at::Tensor> tensors;
  for (c10::IValue& value : *stack) {
    if (value.isTensor()) {
      tensors.push_back(std::move(value).toTensor());
    } else if (value.isTensorList()) {
      for (at::Tensor& tensor : value.toTensorVector()) {
        tensors.push_back(std::move(tensor));
      }
    } else {
      throw Error("OpNotImplementedError", in_quotes(c10::toString(op.operator_name())) +
                                               " returns something else than tensors");
    }
  }
  return tensors;
}

// How many tensors its results are; -1 where a list is among them.
int32_t count_results(const c10::FunctionSchema& schema, const std::string& name) {
  bool is_open = false;
  for (const c10::Argument& result : schema.returns()) {
    const auto list = result.type()->cast<c10::ListType>();
    is_open = is_open || list != nullptr;
    const c10::TypePtr type = list == nullptr ? result.type() : list->getElementType();
    if (type->kind() != c10::TypeKind::TensorType) {
      throw Error("OpNotImplementedError",
                  in_quotes(name) + " returns something else than tensors");
    }
  }
  return is_open ? -1 : static_cast<int32_t>(schema.returns().size());
}

}  // namespace

std::vector<at::Tensor> run_torch_call(const char* name, const oneop_value* args,
                                       int32_t num_args) {
  const c10::OperatorHandle op = find_torch_op(name);
  torch::jit::Stack stack = make_torch_arguments(op, args, num_args);
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    refuse_random_in_replay("op " + in_quotes(name));
  }
  op.callBoxed(&stack);
  return take_results(op, &stack);
}

RecordedCall::RecordedCall(const char* name, const oneop_value* args, int32_t num_args)
    : name_(name),
      op_(find_torch_op(name_)),
      arguments_(make_torch_arguments(op_, args, num_args)),
      num_outputs_(count_results(op_.schema(), name_)) {
  if (op_.schema().is_mutable()) {
    throw Error("OpNotImplementedError",
                in_quotes(this->name()) +
                    " changes its arguments, which others may still need\n  use the op that "
                    "returns a new tensor, as aten::add in place of aten::add_");
  }
  for (int32_t i = 0; i < num_args; ++i) {
    if (is_blob(args[i])) {
      add_place(i, args[i]);
    }
  }
}

void RecordedCall::add_place(size_t argument, const oneop_value& value) {
  c10::TypePtr type = without_optional(op_.schema().arguments()[argument].type());
  const auto list = type->cast<c10::ListType>();
  Place place{argument, list != nullptr, false, {}};
  if (list != nullptr) {
    type = without_optional(list->getElementType());
    place.has_gaps = list->getElementType()->kind() == c10::TypeKind::OptionalType;
  }
  if (type->kind() != c10::TypeKind::TensorType ||
      place.is_list != (value.kind == ONEOP_VALUE_BLOBS)) {
    refuse_torch_argument(op_, argument, value);
  }
  if (!place.is_list) {
    blobs_.push_back(static_cast<int32_t>(value.value.i));
  }
  for (int64_t i = 0; place.is_list && i < value.value.list.count; ++i) {
    const int64_t blob = static_cast<const int64_t*>(value.value.list.data)[i];
    place.given.push_back(blob >= 0);
    if (blob >= 0) {
      blobs_.push_back(static_cast<int32_t>(blob));
    } else if (!place.has_gaps) {
      refuse_torch_argument(op_, argument, oneop_value{});
    }
  }
  places_.push_back(std::move(place));
}

std::vector<at::Tensor> RecordedCall::call(const std::vector<at::Tensor>& tensors,
                                           bool on_meta) const {
  torch::jit::Stack stack = arguments_;
  size_t next = 0;
  for (const Place& place : places_) {
    if (!place.is_list) {
      stack[place.argument] = tensors[next++];
    } else if (place.has_gaps) {
      c10::List<std::optional<at::Tensor>> list;
      for (const bool is_given : place.given) {
        list.push_back(is_given ? std::optional<at::Tensor>(tensors[next++]) : std::nullopt);
      }
      stack[place.argument] = std::move(list);
    } else {
      c10::List<at::Tensor> list;
      for (size_t i = 0; i < place.given.size(); ++i) {
        list.push_back(tensors[next++]);
      }
      stack[place.argument] = std::move(list);
    }
  }
  const auto& arguments = op_.schema().arguments();
  for (size_t i = 0; on_meta && i < arguments.size(); ++i) {
    const bool is_device =
        without_optional(arguments[i].type())->kind() == c10::TypeKind::DeviceObjType;
    if (is_device && (!stack[i].isNone() || tensors.empty())) {
      stack[i] = c10::Device(c10::kMeta);
    }
  }
  op_.callBoxed(&stack);
  return take_results(op_, &stack);
}

std::optional<c10::Device> RecordedCall::device() const {
  for (const c10::IValue& argument : arguments_) {
    if (argument.isDevice()) {
      return argument.toDevice();
    }
  }
  return std::nullopt;
}

std::vector<at::Tensor> RecordedCall::run(const std::vector<at::Tensor>& tensors) const {
  return call(tensors, /*on_meta=*/false);
}

std::vector<at::Tensor> RecordedCall::call_on_meta(const std::vector<at::Tensor>& metas) const {
  // No mode or transform of this thread is to see the call.
  c10::impl::ForceDispatchKeyGuard plain(c10::default_included_set, c10::default_excluded_set);
  at::AutoDispatchBelowADInplaceOrView below;
  try {
    return call(metas, /*on_meta=*/true);
  } catch (const c10::NotImplementedError&) {
    // Many of torch's ops are inferred in Python, in a module that torch imports late.
    pybind11::gil_scoped_acquire gil;
    pybind11::module_::import("torch._meta_registrations");
  }
  return call(metas, /*on_meta=*/true);
}

std::vector<at::Tensor> RecordedCall::infer_on_meta(
    const std::vector<const TensorMeta*>& inputs) const {
  const auto refuse = [&](const std::string& why) {
    throw Error("GradientError", "the shape of what " + in_quotes(name_) +
                                     " returns cannot be inferred: " +
                                     why.substr(0, why.find('\n')));  // a traceback may follow
  };
  try {
    std::vector<at::Tensor> metas;
    for (const TensorMeta* input : inputs) {
      metas.push_back(
          at::detail::empty_strided_meta(input->shape, input->stride, to_torch(input->dtype)));
    }
    return call_on_meta(metas);
  } catch (const c10::Error& error) {
    refuse(error.what_without_backtrace());
  } catch (const std::exception& error) {  // Python's
    refuse(error.what());
  }
  return {};
}

std::vector<TensorMeta> RecordedCall::infer(const std::vector<const TensorMeta*>& inputs) const {
  const std::vector<at::Tensor> results = infer_on_meta(inputs);
  const TensorMeta* first = leader(inputs);
  const std::optional<c10::Device> asked = device();
  std::vector<TensorMeta> metas;
  for (const at::Tensor& result : results) {
    TensorMeta meta;
    meta.dtype = to_abi(result.scalar_type());
    if (asked.has_value()) {
      meta.device_type = to_abi(asked->type());
      meta.device_index = asked->index();
    } else if (first != nullptr) {
      meta.device_type = first->device_type;
      meta.device_index = first->device_index;
    }
    meta.shape = result.sizes().vec();
    meta.stride = result.strides().vec();
    metas.push_back(std::move(meta));
  }
  return metas;
}

}  // namespace oneop
