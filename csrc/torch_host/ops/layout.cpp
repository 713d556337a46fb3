// layout.cpp: from an OpDef to torch's schema.
#include "torch_host/ops/layout.h"

#include <atomic>
#include <set>

#include "engine/ops/error.h"
#include "torch_host/ops/ivalues.h"

namespace oneop {
namespace {

using c10::Argument;
using c10::TypePtr;

TypePtr attr_type(int32_t type) {
  switch (type) {
    case ONEOP_ATTR_BOOL:
      return c10::BoolType::get();
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return c10::FloatType::get();
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      return c10::StringType::get();
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return c10::ComplexType::get();
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_INT64:
    case ONEOP_ATTR_LIST_DTYPE:
      return c10::ListType::ofInts();
    case ONEOP_ATTR_LIST_FLOAT:
    case ONEOP_ATTR_LIST_DOUBLE:
      return c10::ListType::ofFloats();
    case ONEOP_ATTR_LIST_BOOL:
      return c10::ListType::ofBools();
    case ONEOP_ATTR_SCALAR:
      return c10::NumberType::get();
    case ONEOP_ATTR_LIST_STRING:
      return c10::ListType::ofStrings();
    case ONEOP_ATTR_LIST_SHAPE:
      return c10::ListType::create(c10::ListType::ofInts());
    default:
      return c10::IntType::get();
  }
}

Argument tensor_argument(const ArgDef& arg, bool has_default, bool is_mutable, int32_t* alias) {
  TypePtr type = c10::TensorType::get();
  std::optional<c10::IValue> default_value;
  if (arg.is_list()) {
    type = c10::ListType::ofTensors();
    if (has_default) {
      default_value = c10::IValue(c10::List<at::Tensor>());
    }
  } else if (arg.is_optional) {
    type = c10::OptionalType::create(std::move(type));
    if (has_default) {
      default_value = c10::IValue();
    }
  }
  std::optional<c10::AliasInfo> alias_info;
  if (is_mutable) {
    const std::set<std::string> name = {std::string("alias::") +
                                        static_cast<char>('a' + (*alias)++ % 26)};
    alias_info = c10::AliasInfo(true, name, name);
  }
  return Argument(schema_name(arg.name), type, type, std::nullopt, std::move(default_value), false,
                  std::move(alias_info));
}

// The argument of an attribute; the layout gets its default.
Argument attr_argument(const AttrDef& attr, Layout* layout) {
  std::optional<c10::IValue> default_value;
  if (attr.has_default) {
    default_value = to_ivalue(attr.default_value);
  }
  layout->attr_defaults.push_back(default_value.value_or(c10::IValue()));
  layout->attr_default_keys.emplace_back();
  append_attr_key(attr, layout->attr_defaults.back(), &layout->attr_default_keys.back());
  TypePtr type = attr_type(attr.type);
  // As torch's own schemas do.
  TypePtr real_type = attr.type == ONEOP_ATTR_DTYPE ? TypePtr(c10::ScalarTypeType::get()) : type;
  if (attr.is_optional) {
    type = c10::OptionalType::create(std::move(type));
    real_type = c10::OptionalType::create(std::move(real_type));
  }
  const std::optional<int32_t> size =
      attr.list_size > 0 ? std::optional<int32_t>(attr.list_size) : std::nullopt;
  return Argument(attr_schema_name(attr.name), type, real_type, size, std::move(default_value),
                  /*kwarg_only=*/true);
}

// What the op returns; the layout gets the number of tensors of each output.
std::vector<Argument> make_returns(const OpDef& op, Layout* layout) {
  std::vector<Argument> returns;
  for (const ArgDef& arg : op.outputs) {
    layout->fixed_output_counts.push_back(arg.count);
  }
  if (layout->returns_list()) {
    returns.emplace_back("", c10::ListType::ofTensors());
    return returns;
  }
  for (const ArgDef& arg : op.outputs) {
    for (int32_t i = 0; i < arg.count; ++i) {
      returns.emplace_back("", c10::TensorType::get());
    }
  }
  return returns;
}

}  // namespace

Layout::Layout()
    : id([] {
        static std::atomic<int64_t> next{1};
        return next.fetch_add(1, std::memory_order_relaxed);
      }()) {}

c10::FunctionSchema make_schema(const OpDef& op, Layout* layout) {
  std::vector<Argument> arguments;
  int32_t alias = 0;
  // A default is possible only where every later input has one too.
  size_t first_default = op.inputs.size();
  while (first_default > 0 && op.inputs[first_default - 1].is_optional) {
    --first_default;
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const ArgDef& arg = op.inputs[i];
    const bool is_mutable = op.input_traits[i].is_mutable;
    arguments.push_back(tensor_argument(arg, i >= first_default, is_mutable, &alias));
    layout->inputs.push_back(arg.is_list()     ? Layout::Input::kList
                             : arg.is_optional ? Layout::Input::kOptional
                                               : Layout::Input::kTensor);
    layout->mutates |= is_mutable;
    layout->has_host_inputs |= op.inputs[i].on_host;
    layout->has_gaps |= op.inputs[i].has_gaps;
  }
  layout->first_attr = static_cast<int32_t>(arguments.size());
  for (const AttrDef& attr : op.attrs) {
    arguments.push_back(attr_argument(attr, layout));
    layout->num_positional += attr.is_positional ? 1 : 0;
  }
  if (op.has_open_outputs()) {
    layout->output_counts_arg = static_cast<int32_t>(arguments.size());
    c10::List<int64_t> counts;
    for (const ArgDef& arg : op.outputs) {
      counts.push_back(arg.is_optional ? 0 : arg.count);
    }
    layout->default_output_counts = counts;
    arguments.emplace_back("output_counts", c10::ListType::ofInts(), std::nullopt,
                           layout->default_output_counts, /*kwarg_only=*/true);
  }
  if (first_default == 0) {
    layout->device_arg = static_cast<int32_t>(arguments.size());
    arguments.emplace_back("device", c10::OptionalType::create(c10::DeviceObjType::get()),
                           std::nullopt, c10::IValue(), /*kwarg_only=*/true);
  }
  layout->num_args = static_cast<int32_t>(arguments.size());
  std::vector<Argument> returns = make_returns(op, layout);
  return c10::FunctionSchema("oneop::" + op.name, "", std::move(arguments), std::move(returns));
}

std::vector<at::Tag> schema_tags(const c10::FunctionSchema& schema, uint32_t flags) {
  // The tag for strides also decides how Inductor lowers arguments that were left out: with
  // needs_exact_strides it fills in their defaults, otherwise not. AOTInductor's run-time reads an
  // int default only if it was filled in, and a dtype default only if it was not. Exact strides are
  // right for every kernel: one that needs contiguous tensors gets copies from the call itself.
  bool has_dtype_default = false;
  for (const c10::Argument& argument : schema.arguments()) {
    c10::TypePtr type = argument.real_type();
    if (const auto optional = type->cast<c10::OptionalType>()) {
      type = optional->getElementType();
    }
    has_dtype_default |=
        argument.default_value().has_value() && type->kind() == c10::TypeKind::ScalarTypeType;
  }
  const bool any_strides = (flags & ONEOP_OP_NON_CONTIGUOUS) != 0;
  std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag, has_dtype_default && !any_strides
                                                               ? at::Tag::needs_contiguous_strides
                                                               : at::Tag::needs_exact_strides};
  if ((flags & ONEOP_OP_RANDOM) != 0) {
    tags.push_back(at::Tag::nondeterministic_seeded);
  }
  if ((flags & kDynamicOutputs) != 0) {
    tags.push_back(at::Tag::dynamic_output_shape);
  }
  return tags;
}

void check_stack(const Layout& layout, const torch::jit::Stack& stack) {
  bool fits = stack.size() >= static_cast<size_t>(layout.num_args);
  for (size_t i = 0; fits && i < layout.inputs.size(); ++i) {
    const c10::IValue& value = stack[stack.size() - layout.num_args + i];
    fits = layout.inputs[i] == Layout::Input::kList       ? value.isList() || value.isNone()
           : layout.inputs[i] == Layout::Input::kOptional ? value.isTensor() || value.isNone()
                                                          : value.isTensor();
  }
  if (!fits) {
    throw Error("OpRuntimeError", "op " + in_quotes(layout.op->name) +
                                      " was redefined with other arguments during this call\n"
                                      "  call it again");
  }
}

}  // namespace oneop
