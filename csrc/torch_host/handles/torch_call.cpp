// torch_call.cpp: finding torch's op, and making its arguments of the ABI's values.
#include "torch_host/handles/torch_call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/ops/error.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"
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

const char* kind_name(int32_t kind) {
  static const char* const kNames[] = {"None",
                                       "a tensor",
                                       "tensors",
                                       "an int",
                                       "a float",
                                       "a bool",
                                       "a complex",
                                       "a string",
                                       "a list of ints",
                                       "a list of floats",
                                       "a list of strings",
                                       "a list of shapes",
                                       "a dtype",
                                       "a list of dtypes",
                                       "a device",
                                       "a list of scalars",
                                       "a random generator",
                                       "a tensor",
                                       "tensors"};
  const bool is_known = kind >= 0 && kind <= ONEOP_VALUE_BLOBS;
  return is_known ? kNames[kind] : "an unknown value";
}

[[noreturn]] void refuse(const c10::OperatorHandle& op, size_t i, const oneop_value& value) {
  const c10::Argument& argument = op.schema().arguments()[i];
  throw Error("ArgumentError", "argument " + in_quotes(argument.name()) + " of " +
                                   in_quotes(c10::toString(op.operator_name())) + ": expected " +
                                   argument.real_type()->str() + ", found " +
                                   kind_name(value.kind) + "\n  it is " + c10::str(op.schema()));
}

bool is_whole(const oneop_value& value) {
  return value.kind == ONEOP_VALUE_INT || value.kind == ONEOP_VALUE_BOOL;
}
c10::Scalar to_scalar(const oneop_value& value) {
  switch (value.kind) {
    case ONEOP_VALUE_BOOL:
      return value.value.i != 0;
    case ONEOP_VALUE_FLOAT:
      return value.value.f;
    case ONEOP_VALUE_COMPLEX:
      return c10::complex<double>(value.value.c[0], value.value.c[1]);
    default:
      return value.value.i;
  }
}

template <typename T>
const T* list_of(const oneop_value& value) {
  return static_cast<const T*>(value.value.list.data);
}

// None where the value is nothing for such a list.
c10::IValue to_list(const c10::Argument& argument, const c10::Type& element,
                    const oneop_value& value) {
  const int64_t count = value.value.list.count;
  const bool is_one = argument.N().has_value();  // `int[1] dim`: a number stands for the list
  switch (element.kind()) {
    case c10::TypeKind::IntType:
      if (value.kind == ONEOP_VALUE_INTS) {
        return std::vector<int64_t>(list_of<int64_t>(value), list_of<int64_t>(value) + count);
      }
      return is_one && is_whole(value) ? c10::IValue(std::vector<int64_t>{value.value.i})
                                       : c10::IValue();
    case c10::TypeKind::FloatType:
      if (value.kind == ONEOP_VALUE_FLOATS) {
        return std::vector<double>(list_of<double>(value), list_of<double>(value) + count);
      }
      if (value.kind == ONEOP_VALUE_INTS) {
        return std::vector<double>(list_of<int64_t>(value), list_of<int64_t>(value) + count);
      }
      return c10::IValue();
    case c10::TypeKind::BoolType: {
      c10::List<bool> list;
      for (int64_t i = 0; value.kind == ONEOP_VALUE_INTS && i < count; ++i) {
        list.push_back(list_of<int64_t>(value)[i] != 0);
      }
      return value.kind == ONEOP_VALUE_INTS ? c10::IValue(list) : c10::IValue();
    }
    case c10::TypeKind::NumberType: {
      c10::List<c10::Scalar> list;
      for (int64_t i = 0; value.kind == ONEOP_VALUE_SCALARS && i < count; ++i) {
        list.push_back(to_scalar(list_of<oneop_value>(value)[i]));
      }
      return value.kind == ONEOP_VALUE_SCALARS ? c10::IValue(list) : c10::IValue();
    }
    default:
      return c10::IValue();
  }
}

c10::IValue to_tensors(const oneop_value& value, bool has_gaps) {
  const auto* handles = list_of<oneop_handle>(value);
  c10::List<std::optional<at::Tensor>> gaps;
  c10::List<at::Tensor> whole;
  for (int64_t i = 0; i < value.value.list.count; ++i) {
    if (has_gaps) {
      gaps.push_back(handles[i] == nullptr ? std::optional<at::Tensor>() : tensor_of(handles[i]));
    } else if (handles[i] == nullptr) {
      return c10::IValue();  // no list of tensors
    } else {
      whole.push_back(tensor_of(handles[i]));
    }
  }
  return has_gaps ? c10::IValue(gaps) : c10::IValue(whole);
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional == nullptr ? type : optional->getElementType();
}

// None where the value is nothing for the argument.
c10::IValue to_value(const c10::Argument& argument, const oneop_value& value) {
  const c10::TypePtr type = without_optional(argument.type());
  switch (type->kind()) {
    case c10::TypeKind::TensorType:
      return value.kind == ONEOP_VALUE_TENSOR ? c10::IValue(tensor_of(value.value.tensor))
                                              : c10::IValue();
    case c10::TypeKind::IntType:
      if (value.kind == ONEOP_VALUE_DTYPE) {
        return static_cast<int64_t>(to_torch(static_cast<int32_t>(value.value.i)));
      }
      return is_whole(value) ? c10::IValue(value.value.i) : c10::IValue();
    case c10::TypeKind::FloatType:
      if (value.kind == ONEOP_VALUE_FLOAT) {
        return value.value.f;
      }
      return is_whole(value) ? c10::IValue(static_cast<double>(value.value.i)) : c10::IValue();
    case c10::TypeKind::BoolType:
      return is_whole(value) ? c10::IValue(value.value.i != 0) : c10::IValue();
    case c10::TypeKind::NumberType:
      return is_whole(value) || value.kind == ONEOP_VALUE_FLOAT || value.kind == ONEOP_VALUE_COMPLEX
                 ? c10::IValue(to_scalar(value))
                 : c10::IValue();
    case c10::TypeKind::StringType:
      return value.kind == ONEOP_VALUE_STRING
                 ? c10::IValue(std::string(list_of<char>(value), value.value.list.count))
                 : c10::IValue();
    case c10::TypeKind::GeneratorType:
      return value.kind == ONEOP_VALUE_GENERATOR ? c10::IValue(generator_of(value.value.tensor))
                                                 : c10::IValue();
    case c10::TypeKind::DeviceObjType:
      if (value.kind == ONEOP_VALUE_DEVICE) {
        const auto* parts = list_of<int64_t>(value);
        return to_torch_device(static_cast<int32_t>(parts[0]), parts[1]);
      }
      return c10::IValue();
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      if (value.kind == ONEOP_VALUE_TENSORS &&
          without_optional(element)->kind() == c10::TypeKind::TensorType) {
        return to_tensors(value, element->kind() == c10::TypeKind::OptionalType);
      }
      return to_list(argument, *element, value);
    }
    default:
      return c10::IValue();
  }
}

bool is_blob(const oneop_value& value) {
  return value.kind == ONEOP_VALUE_BLOB || value.kind == ONEOP_VALUE_BLOBS;
}

// All arguments, defaults filled in; None in the place of blobs.
torch::jit::Stack make_arguments(const c10::OperatorHandle& op, const oneop_value* args,
                                 int32_t num_args) {
  const auto& arguments = op.schema().arguments();
  if (static_cast<size_t>(num_args) > arguments.size()) {
    throw Error("ArgumentError", in_quotes(c10::toString(op.operator_name())) + " takes " +
                                     std::to_string(arguments.size()) + " arguments, given are " +
                                     std::to_string(num_args) + "\n  it is " +
                                     c10::str(op.schema()));
  }
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < static_cast<size_t>(num_args)) {
      const bool is_none = args[i].kind == ONEOP_VALUE_NONE;
      stack.push_back(is_none || is_blob(args[i]) ? c10::IValue()
                                                  : to_value(arguments[i], args[i]));
      const bool takes_none = arguments[i].type()->kind() == c10::TypeKind::OptionalType;
      if (stack.back().isNone() && !is_blob(args[i]) && !(is_none && takes_none)) {
        refuse(op, i, args[i]);
      }
    } else if (arguments[i].default_value().has_value()) {
      stack.push_back(*arguments[i].default_value());
    } else {
      throw Error("ArgumentError", in_quotes(c10::toString(op.operator_name())) +
                                       " needs the argument " + in_quotes(arguments[i].name()) +
                                       "\n  it is " + c10::str(op.schema()));
    }
  }
  return stack;
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
  torch::jit::Stack stack = make_arguments(op, args, num_args);
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    refuse_random_in_replay("op " + in_quotes(name));
  }
  op.callBoxed(&stack);
  return take_results(op, &stack);
}

RecordedCall::RecordedCall(const char* name, const oneop_value* args, int32_t num_args)
    : name_(name),
      op_(find_torch_op(name_)),
      arguments_(make_arguments(op_, args, num_args)),
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
    refuse(op_, argument, value);
  }
  if (!place.is_list) {
    blobs_.push_back(static_cast<int32_t>(value.value.i));
  }
  for (int64_t i = 0; place.is_list && i < value.value.list.count; ++i) {
    const int64_t blob = list_of<int64_t>(value)[i];
    place.given.push_back(blob >= 0);
    if (blob >= 0) {
      blobs_.push_back(static_cast<int32_t>(blob));
    } else if (!place.has_gaps) {
      refuse(op_, argument, oneop_value{});
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
