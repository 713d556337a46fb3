// torch_op.cpp: from an OpDef to a torch op.
#include "torch_op.h"

#include <mutex>
#include <set>
#include <unordered_map>

#include "autograd.h"
#include "calls.h"
#include "compute.h"
#include "error.h"
#include "python_error.h"
#include "torch_types.h"

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
      return c10::ListType::ofFloats();
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

}  // namespace

Layout::Layout()
    : id([] {
        static std::atomic<int64_t> next{1};
        return next.fetch_add(1, std::memory_order_relaxed);
      }()) {}

std::string schema_name(const std::string& name) {
  static const std::set<std::string> keywords = {
      "False",   "None",   "True",     "and",      "as",   "assert", "async", "await",
      "break",   "class",  "continue", "def",      "del",  "elif",   "else",  "except",
      "finally", "for",    "from",     "global",   "if",   "import", "in",    "inf",
      "is",      "lambda", "nan",      "nonlocal", "not",  "or",     "pass",  "raise",
      "return",  "self",   "try",      "while",    "with", "yield"};
  return keywords.count(name) != 0 ? name + "_" : name;
}

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
  }
  layout->first_attr = static_cast<int32_t>(arguments.size());
  for (const AttrDef& attr : op.attrs) {
    std::optional<c10::IValue> default_value;
    if (attr.has_default) {
      default_value = to_ivalue(attr.default_value);
    }
    layout->attr_defaults.push_back(default_value.value_or(c10::IValue()));
    layout->attr_default_keys.emplace_back();
    append_ivalue_key(layout->attr_defaults.back(), &layout->attr_default_keys.back());
    TypePtr type = attr_type(attr.type);
    TypePtr real_type = type;
    if (attr.type == ONEOP_ATTR_DTYPE) {
      real_type = c10::ScalarTypeType::get();
    }  // as torch's own schemas do
    arguments.emplace_back(schema_name(attr.name), type, real_type, std::nullopt,
                           std::move(default_value), /*kwarg_only=*/true);
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

  std::vector<Argument> returns;
  for (const ArgDef& arg : op.outputs) {
    layout->fixed_output_counts.push_back(arg.count);
  }
  if (layout->returns_list()) {
    returns.emplace_back("", c10::ListType::ofTensors());
  } else {
    for (const ArgDef& arg : op.outputs) {
      for (int32_t i = 0; i < arg.count; ++i) {
        returns.emplace_back("", c10::TensorType::get());
      }
    }
  }
  return c10::FunctionSchema("oneop::" + op.name, "", std::move(arguments), std::move(returns));
}

namespace {

std::mutex& torch_ops_mutex() {
  static std::mutex* mutex = new std::mutex;
  return *mutex;
}

std::unordered_map<OpSlot*, TorchOp*>& torch_ops() {
  static auto* ops = new std::unordered_map<OpSlot*, TorchOp*>;
  return *ops;
}

// One boxed kernel; torch calls it for any op through the TorchOp it belongs to.
using Act = void (*)(const TorchOp&, const c10::OperatorHandle&, c10::DispatchKeySet,
                     torch::jit::Stack*);

struct Functor final : c10::OperatorKernel {
  Functor(const TorchOp* torch_op, Act act_fn) : op(torch_op), act(act_fn) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    try {
      act(*op, handle, keys, stack);
    } catch (const Error& error) {
      throw_python_error(error);
    }
  }
  const TorchOp* op;
  Act act;
};

}  // namespace

RecordPtr TorchOp::record() const {
  RecordPtr record = slot_->record();
  return record != nullptr ? record : Registry::global().get(slot_->name);
}

TorchOp& TorchOp::of(OpSlot* slot) {
  std::lock_guard<std::mutex> lock(torch_ops_mutex());
  TorchOp*& op = torch_ops()[slot];
  if (op == nullptr) {
    op = new TorchOp(slot);
  }
  return *op;
}

TorchOp& TorchOp::find(const std::string& name) {
  Registry::global().get(name);  // throws if unknown
  return of(Registry::global().find_slot(name));
}

void TorchOp::register_kernels(const Layout& layout) {
  const auto add = [&](c10::DispatchKey key, Act act) {
    kernels_->impl(slot_->name.c_str(),
                   torch::dispatch(key, torch::CppFunction::makeFromBoxedFunctor(
                                            std::make_unique<Functor>(this, act))));
  };
  if (kernels_ == nullptr) {
    kernels_ = std::make_unique<torch::Library>(torch::Library::IMPL, "oneop", std::nullopt,
                                                __FILE__, __LINE__);
    add(c10::DispatchKey::CPU, &compute);
    add(c10::DispatchKey::CUDA, &compute);
    add(c10::DispatchKey::Meta, &compute_meta);
    add(c10::DispatchKey::Autograd, &compute_autograd);
  }
  // Only calls without any tensor need to choose a device; for all others it would be a step more.
  if (layout.device_arg >= 0 && !selects_backend_) {
    add(c10::DispatchKey::BackendSelect, &select_backend);
    selects_backend_ = true;
  }
  if (layout.mutates && !counts_changes_) {
    add(c10::DispatchKey::ADInplaceOrView, &count_changes);
    counts_changes_ = true;
  }
}

std::vector<at::Tag> schema_tags(const c10::FunctionSchema& schema, uint32_t flags) {
  // The tag for strides also decides how Inductor lowers arguments that were left out: with
  // needs_exact_strides it fills in their defaults, otherwise not. AOTInductor's run-time reads an
  // int default only if it was filled in, and a dtype default only if it was not. Exact strides are
  // right for every kernel: one that needs contiguous tensors gets copies from the call itself.
  bool has_dtype_default = false;
  for (const c10::Argument& argument : schema.arguments()) {
    has_dtype_default |= argument.default_value().has_value() &&
                         argument.real_type()->kind() == c10::TypeKind::ScalarTypeType;
  }
  const bool any_strides = (flags & ONEOP_OP_NON_CONTIGUOUS) != 0;
  std::vector<at::Tag> tags = {at::Tag::pt2_compliant_tag, has_dtype_default && !any_strides
                                                               ? at::Tag::needs_contiguous_strides
                                                               : at::Tag::needs_exact_strides};
  if ((flags & ONEOP_OP_RANDOM) != 0) {
    tags.push_back(at::Tag::nondeterministic_seeded);
  }
  return tags;
}

void TorchOp::define(c10::FunctionSchema schema, uint32_t flags) {
  // The kernels keep torch's entry of this op alive while its definition is exchanged, so handles
  // stay valid.
  definition_.reset();
  auto definition = std::make_unique<torch::Library>(torch::Library::FRAGMENT, "oneop",
                                                     std::nullopt, __FILE__, __LINE__);
  const std::vector<at::Tag> tags = schema_tags(schema, flags);
  definition->def(std::move(schema), tags);
  definition_ = std::move(definition);
}

}  // namespace oneop
