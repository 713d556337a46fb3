// Functions of a library as the host gets them: each with its functor, or one derived from the op
// of its name.
#ifndef ONEOP_SDK_FUNCTION_TABLE_H_
#define ONEOP_SDK_FUNCTION_TABLE_H_

#include "oneflow/core/functional/function_library.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Calls an op with the arguments of a function, matched by name.
class DerivedFunctor {
 public:
  DerivedFunctor(const oneop_function_def* function, const oneop_op_def* op)
      : function_(function), op_(op) {
    for (int32_t i = 0; i != function->num_args; ++i) {
      const char* name = function->args[i]->name;
      targets_.push_back({name, HasInput(name), FindAttr(name)});
    }
    for (int32_t i = 0; i != op->num_outputs; ++i) {
      const oneop_arg_def* out = op->outputs[i];
      output_names_.insert(output_names_.end(), out->is_optional ? 0 : out->count, out->name);
    }
  }

  // What keeps the function from being derived from the op, or empty.
  std::string Problem() const {
    for (int32_t i = 0; i != function_->num_args; ++i) {
      const oneop_function_arg& arg = *function_->args[i];
      const Target& target = targets_[static_cast<size_t>(i)];
      const std::string which = Join({"parameter \"", arg.name, "\" "});
      if (!target.is_input && target.attr == nullptr) {
        return which + "is no input or attribute of the op";
      }
      if (target.is_input && arg.type != ONEOP_TYPE_TENSOR && arg.type != ONEOP_TYPE_TENSOR_TUPLE) {
        return which + "is a " + ValueTypeOf(arg.type).name + ", but an input of the op";
      }
      if (!target.is_input && !IsAttrOf(target.attr->type, arg.type)) {
        return which + "is a " + ValueTypeOf(arg.type).name +
               ", which the attribute of that name cannot hold";
      }
    }
    for (int32_t i = 0; i != op_->num_inputs; ++i) {
      if (op_->inputs[i]->is_optional == 0 && !HasParameter(op_->inputs[i]->name)) {
        return Join({"no parameter gives its input \"", op_->inputs[i]->name, "\""});
      }
    }
    for (int32_t i = 0; i != op_->num_attrs; ++i) {
      if (op_->attrs[i]->has_default == 0 && !HasParameter(op_->attrs[i]->name)) {
        return Join({"no parameter gives its attribute \"", op_->attrs[i]->name, "\""});
      }
    }
    const int32_t returns = function_->return_type;
    const bool has_one = output_names_.size() == 1;
    if (returns != ONEOP_TYPE_TENSOR_TUPLE && !(returns == ONEOP_TYPE_TENSOR && has_one) &&
        !(returns == ONEOP_TYPE_VOID && output_names_.empty())) {
      return Join({"the signature returns ", ValueTypeOf(returns).name, ", the op ",
                   Digits(static_cast<int64_t>(output_names_.size())), " tensors"});
    }
    return {};
  }

  static int32_t Call(void* self, const oneop_value* args, int32_t num_args, oneop_result* result,
                      oneop_status* status) {
    const auto* me = static_cast<const DerivedFunctor*>(self);
    try {
      me->Run(args, num_args, result);
      return ONEOP_OK;
    } catch (...) {
      return ReportCurrentException(nullptr, status, {me->function_->file, me->function_->line});
    }
  }

 private:
  // Where an argument of the function goes.
  struct Target {
    const char* name;
    bool is_input;
    const oneop_attr_def* attr;
  };
  // A list that needs no memory of its own while it is short.
  template <class T>
  class Few {
   public:
    void Add(const T& item) {
      if (size_ == capacity_) {
        Grow();
      }
      data_[size_++] = item;
    }
    T* data() { return data_; }
    int32_t size() const { return size_; }

   private:
    ONEOP_COLD void Grow() {
      auto more = std::make_unique<T[]>(2 * static_cast<size_t>(capacity_));
      std::copy(data_, data_ + size_, more.get());
      many_ = std::move(more);
      data_ = many_.get();
      capacity_ *= 2;
    }
    static constexpr int32_t kInline = 8;
    T few_[kInline];
    std::unique_ptr<T[]> many_;
    T* data_ = few_;
    int32_t size_ = 0;
    int32_t capacity_ = kInline;
  };
  struct Tensors {
    Few<const char*> names;
    Few<oneop_handle> handles;
    void Add(const char* name, oneop_handle handle) {
      names.Add(name);
      handles.Add(handle);
    }
  };

  void Run(const oneop_value* args, int32_t num_args, oneop_result* result) const {
    if (static_cast<size_t>(num_args) != targets_.size()) {
      ThrowText(ONEOP_ERROR_TYPE,
                {"function \"", function_->name, "\" takes ", Digits(targets_.size()),
                 " arguments, given are ", Digits(num_args)});
    }
    Tensors inputs;
    AttrStore attrs;
    for (int32_t i = 0; i != num_args; ++i) {
      const Target& target = targets_[static_cast<size_t>(i)];
      if (target.is_input) {
        AddTensors(target.name, args[i], &inputs);
      } else if (target.attr == nullptr) {
        ThrowText(ONEOP_ERROR_TYPE,
                  {"function \"", function_->name, "\" is derived from op \"", op_->name,
                   "\", which has no input or attribute \"", target.name, "\""});
      } else if (args[i].kind != ONEOP_VALUE_NONE) {
        PutAttr(*target.attr, args[i], &attrs);
      }
    }
    oneop_call call;
    call.size = sizeof call;
    call.num_inputs = inputs.handles.size();
    call.num_outputs = static_cast<int32_t>(output_names_.size());
    call.num_attrs = attrs.size();
    call.op_type_name = op_->name;
    call.op = nullptr;
    call.input_names = inputs.names.data();
    call.inputs = inputs.handles.data();
    call.output_names = output_names_.data();
    call.attrs = attrs.data();
    call.note = nullptr;
    call.device_type = ONEOP_DEVICE_INVALID;
    call.device_index = 0;
    if (call.num_outputs == 1 && function_->return_type == ONEOP_TYPE_TENSOR &&
        result->size >= sizeof(oneop_result)) {
      oneop_handle output;
      RunCall(call, &output, [this] { return Find(); });
      result->give(result, output);
      return;
    }
    std::vector<oneop_handle> outputs(output_names_.size());
    RunCall(call, outputs.data(), [this] { return Find(); });
    Send(outputs, result);
  }

  const void* Find() const {
    const void* op = __atomic_load_n(&found_, __ATOMIC_RELAXED);
    if (op == nullptr) {
      HostStatus status;
      op = Host()->find_op(op_->name, &status.status);
      status.Check(op == nullptr ? ONEOP_ERROR_RUNTIME : ONEOP_OK);
      __atomic_store_n(&found_, op, __ATOMIC_RELAXED);
    }
    return op;
  }
  void Send(const std::vector<oneop_handle>& outputs, oneop_result* result) const {
    oneop_value value{};
    if (function_->return_type == ONEOP_TYPE_TENSOR && !outputs.empty()) {
      value.kind = ONEOP_VALUE_TENSOR;
      value.value.tensor = outputs[0];
      result->set(result, &value);
    } else if (function_->return_type == ONEOP_TYPE_TENSOR_TUPLE) {
      value.kind = ONEOP_VALUE_TENSORS;
      value.value.list = {outputs.data(), static_cast<int64_t>(outputs.size())};
      result->set(result, &value);
    }
    for (oneop_handle handle : outputs) {
      Release(handle);
    }
  }

  // Whether every value of a parameter is one of the attribute.
  static bool IsAttrOf(int32_t attr, int32_t param) {
    switch (attr) {
      case ONEOP_ATTR_INT32:
        return PassedType(param) == ONEOP_TYPE_INT32;
      case ONEOP_ATTR_INT64:
        return param == ONEOP_TYPE_INT32 || param == ONEOP_TYPE_INT64;
      case ONEOP_ATTR_BOOL:
        return param == ONEOP_TYPE_BOOL;
      case ONEOP_ATTR_FLOAT:
        return param == ONEOP_TYPE_FLOAT;
      case ONEOP_ATTR_DOUBLE:
        return param == ONEOP_TYPE_FLOAT || param == ONEOP_TYPE_DOUBLE;
      case ONEOP_ATTR_STRING:
        return param == ONEOP_TYPE_STRING;
      case ONEOP_ATTR_SHAPE:
      case ONEOP_ATTR_LIST_INT64:
        return param == ONEOP_TYPE_SHAPE || param == ONEOP_TYPE_INT64_LIST ||
               param == ONEOP_TYPE_INT32_LIST;
      case ONEOP_ATTR_DTYPE:
        return param == ONEOP_TYPE_DTYPE;
      case ONEOP_ATTR_LIST_INT32:
        return param == ONEOP_TYPE_INT32_LIST;
      case ONEOP_ATTR_LIST_FLOAT:
        return param == ONEOP_TYPE_FLOAT_LIST;
      case ONEOP_ATTR_LIST_DOUBLE:
        return param == ONEOP_TYPE_FLOAT_LIST || param == ONEOP_TYPE_DOUBLE_LIST;
      case ONEOP_ATTR_LIST_DTYPE:
        return param == ONEOP_TYPE_DTYPE_LIST;
      case ONEOP_ATTR_LIST_SHAPE:
        return param == ONEOP_TYPE_SHAPE_LIST;
      case ONEOP_ATTR_LIST_STRING:
        return param == ONEOP_TYPE_STRING_LIST;
      case ONEOP_ATTR_LIST_BOOL:
        return param == ONEOP_TYPE_BOOL_LIST;
      case ONEOP_ATTR_SCALAR:
        return param == ONEOP_TYPE_SCALAR || param == ONEOP_TYPE_INT64 ||
               param == ONEOP_TYPE_INT32 || param == ONEOP_TYPE_BOOL ||
               param == ONEOP_TYPE_DOUBLE || param == ONEOP_TYPE_FLOAT;
      default:
        return false;
    }
  }
  bool HasParameter(std::string_view name) const {
    for (const Target& target : targets_) {
      if (name == target.name) {
        return true;
      }
    }
    return false;
  }
  bool HasInput(std::string_view name) const {
    for (int32_t i = 0; i != op_->num_inputs; ++i) {
      if (name == op_->inputs[i]->name) {
        return true;
      }
    }
    return false;
  }
  const oneop_attr_def* FindAttr(std::string_view name) const {
    for (int32_t i = 0; i != op_->num_attrs; ++i) {
      if (name == op_->attrs[i]->name) {
        return op_->attrs[i];
      }
    }
    return nullptr;
  }
  static void AddTensors(const char* name, const oneop_value& value, Tensors* tensors) {
    if (value.kind == ONEOP_VALUE_TENSOR) {
      tensors->Add(name, value.value.tensor);
    } else if (value.kind == ONEOP_VALUE_TENSORS) {
      const auto* list = static_cast<const oneop_handle*>(value.value.list.data);
      for (int64_t i = 0; i != value.value.list.count; ++i) {
        tensors->Add(name, list[i]);
      }
    } else if (value.kind != ONEOP_VALUE_NONE) {
      ThrowValue("a tensor", value.kind);
    }
  }

  template <class T>
  static void Put(const oneop_attr_def& attr, const oneop_value& value, AttrStore* attrs) {
    attrs->Put<T>(attr.name, ValueTraits<T>::Read(value));
  }
  static void PutAttr(const oneop_attr_def& attr, const oneop_value& value, AttrStore* attrs) {
    if (value.kind == ONEOP_VALUE_NONE && (attr.flags & ONEOP_ATTRDEF_OPTIONAL) != 0) {
      return attrs->Put<std::optional<int64_t>>(attr.name, std::nullopt);
    }
    switch (attr.type) {
      case ONEOP_ATTR_INT32:
        return Put<int32_t>(attr, value, attrs);
      case ONEOP_ATTR_INT64:
        return Put<int64_t>(attr, value, attrs);
      case ONEOP_ATTR_BOOL:
        return Put<bool>(attr, value, attrs);
      case ONEOP_ATTR_FLOAT:
        return Put<float>(attr, value, attrs);
      case ONEOP_ATTR_DOUBLE:
        return Put<double>(attr, value, attrs);
      default:
        return PutOtherAttr(attr, value, attrs);
    }
  }
  ONEOP_COLD static void PutOtherAttr(const oneop_attr_def& attr, const oneop_value& value,
                                      AttrStore* attrs) {
    switch (attr.type) {
      case ONEOP_ATTR_STRING:
        return Put<std::string>(attr, value, attrs);
      case ONEOP_ATTR_SHAPE:
        return Put<oneflow::Shape>(attr, value, attrs);
      case ONEOP_ATTR_DTYPE:
        return Put<oneflow::DataType>(attr, value, attrs);
      case ONEOP_ATTR_LIST_INT32:
        return Put<std::vector<int32_t>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_INT64:
        return Put<std::vector<int64_t>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_DOUBLE:
        return Put<std::vector<double>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_FLOAT:
        return Put<std::vector<float>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_DTYPE:
        return Put<std::vector<oneflow::DataType>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_SHAPE:
        return Put<std::vector<oneflow::Shape>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_STRING:
        return Put<std::vector<std::string>>(attr, value, attrs);
      case ONEOP_ATTR_LIST_BOOL:
        return Put<std::vector<bool>>(attr, value, attrs);
      case ONEOP_ATTR_SCALAR:
        return Put<oneflow::Scalar>(attr, value, attrs);
      default:
        ThrowText(ONEOP_ERROR_TYPE, {"attribute \"", attr.name,
                                     "\" has a type that no function can give; write a functor"});
    }
  }

  const oneop_function_def* function_;
  const oneop_op_def* op_;
  std::vector<Target> targets_;
  std::vector<const char*> output_names_;
  mutable const void* found_ = nullptr;
};

// A function from the yaml file; `ops` are the names that its op may have.
struct FunctionEntry {
  oneop_function_def def;
  const char* ops[2];
};

// The parameters of a signature.
inline std::vector<ParamType> ParamsOf(const oneop_function_def& def) {
  std::vector<ParamType> params;
  for (int32_t i = 0; i != def.num_args; ++i) {
    const oneop_function_arg& arg = *def.args[i];
    params.push_back({PassedType(arg.type), (arg.flags & ONEOP_ARG_OPTIONAL) != 0});
  }
  return params;
}

// Where a functor differs from a signature.
ONEOP_COLD inline std::string DifferenceOf(const oneop_function_def& def,
                                           const std::vector<ParamType>& params,
                                           const FunctorEntry& functor) {
  if (functor.num_args != def.num_args) {
    return Join(
        {"it has ", Digits(functor.num_args), " parameters, expected ", Digits(def.num_args)});
  }
  for (int32_t i = 0; i != def.num_args; ++i) {
    const ParamType& found = functor.params[i];
    const ParamType& wanted = params[static_cast<size_t>(i)];
    if (found.type != wanted.type || found.is_optional != wanted.is_optional) {
      return Join({"parameter ", Digits(i + 1), " (\"", def.args[i]->name, "\") is ",
                   found.is_optional ? "an optional " : "a ", ValueTypeOf(found.type).name,
                   ", expected ", wanted.is_optional ? "an optional " : "a ",
                   ValueTypeOf(def.args[i]->type).name});
    }
  }
  return Join({"it returns ", ValueTypeOf(functor.return_type).name, ", expected ",
               ValueTypeOf(def.return_type).name});
}

// Has the host refuse the library. The first mistake is told; others often follow from it.
ONEOP_COLD inline void AddMistake(std::string_view text) {
  if (library.description.mistake == nullptr) {
    library.description.mistake = library.arena.CopyText(text);
  }
}

ONEOP_COLD inline std::string FunctionText(const oneop_function_def& def) {
  return Join({"function \"", def.name, "\"\n  signature ", def.text, "\n    at ", def.file, ":",
               Digits(def.line)});
}

// Gives a function its functor: the one of its types, the op of its name, or none.
ONEOP_COLD inline void LinkFunction(FunctionEntry* entry) {
  oneop_function_def* def = &entry->def;
  const std::vector<ParamType> params = ParamsOf(*def);
  const FunctorEntry* functor = FindFunctor(def->cpp_name, params.data(), def->num_args);
  if (functor != nullptr && functor->return_type == def->return_type) {
    def->call = functor->call;
    def->self = functor->self;
    return;
  }
  std::string differences;
  for (const FunctorEntry* other = functors; other != nullptr; other = other->next) {
    // One that was derived for another signature has a self.
    if (other->self == nullptr && std::strcmp(other->name, def->cpp_name) == 0) {
      differences += Join({"\n  functor ", def->cpp_name,
                           ParamsText(other->params, other->num_args), "\n    at ", other->file,
                           ":", Digits(other->line), "\n    ", DifferenceOf(*def, params, *other)});
    }
  }
  if (!differences.empty()) {
    return AddMistake(FunctionText(*def) + differences);
  }
  for (int32_t k = 0; k != library.ops.count; ++k) {
    const auto* op = static_cast<const oneop_op_def*>(library.ops.data[k]);
    if (std::strcmp(op->name, entry->ops[0]) != 0 && std::strcmp(op->name, entry->ops[1]) != 0) {
      continue;
    }
    const auto* derived = new DerivedFunctor(def, op);
    const std::string problem = derived->Problem();
    if (!problem.empty()) {
      // The host refuses calls of this function, and says why.
      def->self = const_cast<char*>(library.arena.CopyText(
          Join({"it cannot be derived from op \"", op->name, "\": ", problem})));
      return;
    }
    def->self = const_cast<DerivedFunctor*>(derived);
    def->call = &DerivedFunctor::Call;
    auto* kept =
        static_cast<ParamType*>(library.arena.Allocate(sizeof(ParamType) * (params.size() + 1)));
    std::copy(params.begin(), params.end(), kept);
    functors =
        new FunctorEntry{def->cpp_name, def->num_args, kept,      def->return_type, def->call,
                         def->self,     def->file,     def->line, functors};
    return;
  }
}

// Two functors that no call can tell apart.
ONEOP_COLD inline void CheckFunctors() {
  for (const FunctorEntry* entry = functors; entry != nullptr; entry = entry->next) {
    for (const FunctorEntry* other = entry->next; other != nullptr; other = other->next) {
      if (std::strcmp(entry->name, other->name) == 0 &&
          ParamsText(entry->params, entry->num_args) ==
              ParamsText(other->params, other->num_args)) {
        AddMistake(
            Join({"two functors are registered as ", entry->name,
                  ParamsText(entry->params, entry->num_args), "\n  first:  ", other->file, ":",
                  Digits(other->line), "\n  second: ", entry->file, ":", Digits(entry->line)}));
      }
    }
  }
}

// Run when the host asks what there is: by then every functor and op of the library is known.
ONEOP_COLD inline void LinkFunctions(FunctionEntry* entries, int32_t count) {
  CheckFunctors();
  for (int32_t i = 0; i != count; ++i) {
    LinkFunction(&entries[i]);
    library.functions.Add(&entries[i].def);
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_FUNCTION_TABLE_H_
