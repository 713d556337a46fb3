// Functions of a library as the host gets them: each with its functor, or one derived from the op
// of its name.
#ifndef ONEOP_SDK_FUNCTION_TABLE_H_
#define ONEOP_SDK_FUNCTION_TABLE_H_

#include "oneflow/core/functional/function_library.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Calls an op with the arguments of a function, matched by name.
struct DerivedFunctor {
  const oneop_function_def* function;
  const oneop_op_def* op;

  static int32_t Call(void* self, const oneop_value* args, int32_t num_args, oneop_result* result,
                      oneop_status* status) {
    const auto* me = static_cast<const DerivedFunctor*>(self);
    try {
      me->Run(args, num_args, result);
      return ONEOP_OK;
    } catch (...) {
      return ReportCurrentException(nullptr, status, {me->function->file, me->function->line});
    }
  }

 private:
  static constexpr int32_t kInline = 16;

  void Run(const oneop_value* args, int32_t num_args, oneop_result* result) const {
    std::vector<const char*> input_names;
    std::vector<oneop_handle> inputs;
    std::vector<oneop_attr> attrs;
    Arena arena;
    for (int32_t i = 0; i != num_args; ++i) {
      const char* name = function->args[i]->name;
      const oneop_value& value = args[i];
      if (HasInput(name)) {
        AddTensors(name, value, &input_names, &inputs);
      } else if (const oneop_attr_def* attr = FindAttr(name)) {
        if (value.kind != ONEOP_VALUE_NONE) {
          attrs.push_back(ToAttr(*attr, value, &arena));
        }
      } else {
        arena.Free();
        ThrowText(ONEOP_ERROR_TYPE,
                  {"function \"", function->name, "\" is derived from op \"", op->name,
                   "\", which has no input or attribute \"", name, "\""});
      }
    }
    std::vector<const char*> output_names;
    for (int32_t i = 0; i != op->num_outputs; ++i) {
      const oneop_arg_def* out = op->outputs[i];
      output_names.insert(output_names.end(), out->is_optional ? 0 : out->count, out->name);
    }
    oneop_call call{};
    call.size = sizeof call;
    call.num_inputs = static_cast<int32_t>(inputs.size());
    call.num_outputs = static_cast<int32_t>(output_names.size());
    call.num_attrs = static_cast<int32_t>(attrs.size());
    call.op_type_name = op->name;
    call.op = Find(inputs);
    call.input_names = input_names.data();
    call.inputs = inputs.data();
    call.output_names = output_names.data();
    call.attrs = attrs.data();
    std::vector<oneop_handle> outputs(output_names.size());
    RunCall(call, outputs.data());
    arena.Free();
    Send(outputs, result);
  }

  const void* Find(const std::vector<oneop_handle>& inputs) const {
    for (oneop_handle handle : inputs) {
      if (IsSymbol(handle)) {
        return nullptr;
      }
    }
    if (found_ == nullptr && recorder == nullptr) {
      HostStatus status;
      found_ = Host()->find_op(op->name, &status.status);
      status.Check(found_ == nullptr ? ONEOP_ERROR_RUNTIME : ONEOP_OK);
    }
    return found_;
  }
  void Send(const std::vector<oneop_handle>& outputs, oneop_result* result) const {
    oneop_value value{};
    if (function->return_type == ONEOP_TYPE_TENSOR && !outputs.empty()) {
      value.kind = ONEOP_VALUE_TENSOR;
      value.value.tensor = outputs[0];
      result->set(result, &value);
    } else if (function->return_type == ONEOP_TYPE_TENSOR_TUPLE) {
      value.kind = ONEOP_VALUE_TENSORS;
      value.value.list = {outputs.data(), static_cast<int64_t>(outputs.size())};
      result->set(result, &value);
    }
    for (oneop_handle handle : outputs) {
      Release(handle);
    }
  }

  bool HasInput(std::string_view name) const {
    for (int32_t i = 0; i != op->num_inputs; ++i) {
      if (name == op->inputs[i]->name) {
        return true;
      }
    }
    return false;
  }
  const oneop_attr_def* FindAttr(std::string_view name) const {
    for (int32_t i = 0; i != op->num_attrs; ++i) {
      if (name == op->attrs[i]->name) {
        return op->attrs[i];
      }
    }
    return nullptr;
  }
  static void AddTensors(const char* name, const oneop_value& value,
                         std::vector<const char*>* names, std::vector<oneop_handle>* handles) {
    if (value.kind == ONEOP_VALUE_TENSOR) {
      names->push_back(name);
      handles->push_back(value.value.tensor);
    } else if (value.kind == ONEOP_VALUE_TENSORS) {
      const auto* list = static_cast<const oneop_handle*>(value.value.list.data);
      names->insert(names->end(), static_cast<size_t>(value.value.list.count), name);
      handles->insert(handles->end(), list, list + value.value.list.count);
    } else if (value.kind != ONEOP_VALUE_NONE) {
      ThrowValue("a tensor", value.kind);
    }
  }

  template <class T>
  static void Put(const oneop_attr_def& attr, const oneop_value& value, oneop_attr* out,
                  Arena* arena) {
    PutAttr(out, attr.name, ValueTraits<T>::Read(value), arena);
  }
  ONEOP_COLD static oneop_attr ToAttr(const oneop_attr_def& attr, const oneop_value& value,
                                      Arena* arena) {
    oneop_attr out{};
    switch (attr.type) {
      case ONEOP_ATTR_INT32:
        Put<int32_t>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_INT64:
        Put<int64_t>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_BOOL:
        Put<bool>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_FLOAT:
        Put<float>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_DOUBLE:
        Put<double>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_STRING:
        Put<std::string>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_SHAPE:
        Put<oneflow::Shape>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_DTYPE:
        Put<oneflow::DataType>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_LIST_INT32:
        Put<std::vector<int32_t>>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_LIST_INT64:
        Put<std::vector<int64_t>>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_LIST_FLOAT:
        Put<std::vector<float>>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_LIST_DTYPE:
        Put<std::vector<oneflow::DataType>>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_LIST_SHAPE:
        Put<std::vector<oneflow::Shape>>(attr, value, &out, arena);
        break;
      case ONEOP_ATTR_LIST_STRING:
        Put<std::vector<std::string>>(attr, value, &out, arena);
        break;
      default:
        ThrowText(ONEOP_ERROR_TYPE, {"attribute \"", attr.name,
                                     "\" has a type that no function can give; write a functor"});
    }
    return out;
  }

 public:
  mutable const void* found_ = nullptr;
};

// A function from the yaml file; `ops` are the names that its op may have.
struct FunctionEntry {
  oneop_function_def def;
  const char* ops[2];
};

// Run when the host asks what there is: by then every functor and op of the library is known.
ONEOP_COLD inline void LinkFunctions(FunctionEntry* entries, int32_t count) {
  for (int32_t i = 0; i != count; ++i) {
    oneop_function_def* def = &entries[i].def;
    if (const FunctorEntry* functor = FindFunctor(def->cpp_name, def->num_args)) {
      def->call = functor->call;
      def->self = functor->self;
    }
    for (int32_t k = 0; def->call == nullptr && k != library.ops.count; ++k) {
      const auto* op = static_cast<const oneop_op_def*>(library.ops.data[k]);
      if (std::strcmp(op->name, entries[i].ops[0]) == 0 ||
          std::strcmp(op->name, entries[i].ops[1]) == 0) {
        def->self = new DerivedFunctor{def, op};
        def->call = &DerivedFunctor::Call;
        functors = new FunctorEntry{def->cpp_name, def->num_args, def->call, def->self,
                                    def->file,     def->line,     functors};
      }
    }
    library.functions.Add(def);
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_FUNCTION_TABLE_H_
