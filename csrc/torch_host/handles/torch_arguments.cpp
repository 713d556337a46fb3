// torch_arguments.cpp: which values serve as which type of torch's schemas.
#include "torch_host/handles/torch_arguments.h"

#include <optional>
#include <string>
#include <vector>

#include "engine/ops/error.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

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

}  // namespace

bool is_blob(const oneop_value& value) {
  return value.kind == ONEOP_VALUE_BLOB || value.kind == ONEOP_VALUE_BLOBS;
}

c10::TypePtr without_optional(const c10::TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional == nullptr ? type : optional->getElementType();
}

torch::jit::Stack make_torch_arguments(const c10::OperatorHandle& op, const oneop_value* args,
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
        refuse_torch_argument(op, i, args[i]);
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

void refuse_torch_argument(const c10::OperatorHandle& op, size_t i, const oneop_value& value) {
  const c10::Argument& argument = op.schema().arguments()[i];
  throw Error("ArgumentError", "argument " + in_quotes(argument.name()) + " of " +
                                   in_quotes(c10::toString(op.operator_name())) + ": expected " +
                                   argument.real_type()->str() + ", found " +
                                   kind_name(value.kind) + "\n  it is " + c10::str(op.schema()));
}

}  // namespace oneop
