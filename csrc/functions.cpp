// functions.cpp: the registry of functions, and calls of one library's function, or of torch's, by
// another.
#include "functions.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstring>

#include "abi_read.h"
#include "error.h"
#include "generators.h"
#include "tensor_handles.h"
#include "torch_types.h"

namespace oneop {
namespace {

// --- torch's own functions, `aten::name.overload` ---

c10::IValue to_torch_value(const oneop_value& value, const c10::Argument& argument) {
  const auto* ints = static_cast<const int64_t*>(value.value.list.data);
  switch (value.kind) {
    case ONEOP_VALUE_NONE:
      return c10::IValue();
    case ONEOP_VALUE_TENSOR:
      return tensor_of(value.value.tensor);
    case ONEOP_VALUE_TENSORS: {
      c10::List<at::Tensor> list;
      const auto* handles = static_cast<const oneop_handle*>(value.value.list.data);
      for (int64_t i = 0; i < value.value.list.count; ++i) {
        list.push_back(tensor_of(handles[i]));
      }
      return list;
    }
    case ONEOP_VALUE_INT:
      return value.value.i;
    case ONEOP_VALUE_BOOL:
      return value.value.i != 0;
    case ONEOP_VALUE_FLOAT:
      return value.value.f;
    case ONEOP_VALUE_COMPLEX:
      return c10::complex<double>(value.value.c[0], value.value.c[1]);
    case ONEOP_VALUE_STRING:
      return std::string(static_cast<const char*>(value.value.list.data), value.value.list.count);
    case ONEOP_VALUE_INTS:
      return std::vector<int64_t>(ints, ints + value.value.list.count);
    case ONEOP_VALUE_FLOATS: {
      const auto* floats = static_cast<const double*>(value.value.list.data);
      return std::vector<double>(floats, floats + value.value.list.count);
    }
    case ONEOP_VALUE_GENERATOR:
      return generator_of(value.value.tensor);
    case ONEOP_VALUE_DTYPE:
      return static_cast<int64_t>(to_torch(static_cast<int32_t>(value.value.i)));
    default:
      throw Error("ArgumentError",
                  "argument " + quoted(argument.name()) + " of a torch op cannot take this value");
  }
}

void check_no_symbols(const char* name, const oneop_value* args, int32_t num_args) {
  for (int32_t i = 0; i < num_args; ++i) {
    if (args[i].kind == ONEOP_VALUE_TENSOR &&
        (reinterpret_cast<uintptr_t>(args[i].value.tensor) & 1)) {
      throw Error(
          "OpNotImplementedError",
          text(name) + " is called in a gradient: gradients are made of registered ops only");
    }
  }
}

void call_torch(const char* name, const oneop_value* args, int32_t num_args, oneop_result* result) {
  check_no_symbols(name, args, num_args);
  const std::string whole = name;
  const size_t dot = whole.find('.');
  const std::string overload = dot == std::string::npos ? "" : whole.substr(dot + 1);
  const auto handle = c10::Dispatcher::singleton().findSchema({whole.substr(0, dot), overload});
  if (!handle.has_value()) {
    throw Error("OpNotFoundError", "torch has no op " + quoted(whole));
  }
  const auto& arguments = handle->schema().arguments();
  if (static_cast<size_t>(num_args) > arguments.size()) {
    throw Error("ArgumentError",
                quoted(whole) + " takes " + std::to_string(arguments.size()) + " arguments");
  }
  torch::jit::Stack stack;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < static_cast<size_t>(num_args)) {
      stack.push_back(to_torch_value(args[i], arguments[i]));
    } else if (arguments[i].default_value().has_value()) {
      stack.push_back(*arguments[i].default_value());
    } else {
      throw Error("ArgumentError",
                  quoted(whole) + " needs the argument " + quoted(arguments[i].name()));
    }
  }
  handle->callBoxed(&stack);
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : stack) {
    if (value.isTensor()) {
      tensors.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        tensors.push_back(tensor);
      }
    } else {
      throw Error("OpNotImplementedError", quoted(whole) + " returns something else than tensors");
    }
  }
  std::vector<oneop_handle> handles;
  for (const at::Tensor& tensor : tensors) {
    handles.push_back(borrow_handle(tensor));
  }
  oneop_value out{};
  if (handles.size() == 1) {
    out.kind = ONEOP_VALUE_TENSOR;
    out.value.tensor = handles[0];
  } else {
    out.kind = ONEOP_VALUE_TENSORS;
    out.value.list = {handles.data(), static_cast<int64_t>(handles.size())};
  }
  result->set(result, &out);
}

}  // namespace

FunctionPtr read_function(const oneop_function_def* theirs, const std::string& library) {
  auto def = std::make_shared<FunctionDef>();
  def->abi = take(theirs);
  def->name = text(def->abi.name);
  def->cpp_name = text(def->abi.cpp_name);
  def->text = text(def->abi.text);
  def->doc = text(def->abi.doc);
  def->source = {text(def->abi.file), def->abi.line, library};
  def->bind_python = def->abi.bind_python != 0;
  def->return_type = def->abi.return_type;
  for (int32_t i = 0; i < def->abi.num_return_names; ++i) {
    def->return_names.push_back(text(def->abi.return_names[i]));
  }
  for (int32_t i = 0; i < def->abi.num_args; ++i) {
    const oneop_function_arg abi = take(def->abi.args[i]);
    FunctionArg arg;
    arg.name = text(abi.name);
    arg.type = abi.type;
    arg.list_size = abi.list_size;
    arg.keyword_only = (abi.flags & ONEOP_ARG_KEYWORD_ONLY) != 0;
    arg.is_optional = (abi.flags & ONEOP_ARG_OPTIONAL) != 0;
    arg.has_default = (abi.flags & ONEOP_ARG_HAS_DEFAULT) != 0;
    arg.default_value = abi.default_value;
    def->args.push_back(std::move(arg));
  }
  const FunctionDef& made = *def;
  if (made.abi.call == nullptr) {
    throw Error("RegistrationError", "function " + quoted(made.name) +
                                         ": Functor was not found for " + quoted(made.cpp_name) +
                                         "\n  add m.add_functor<...>(" + quoted(made.cpp_name) +
                                         ") with " + std::to_string(made.args.size()) +
                                         " parameters\n  at " + made.source.text());
  }
  return def;
}

Functions& Functions::global() {
  static Functions* functions = new Functions;
  return *functions;
}

void Functions::add(const std::string& library, std::vector<FunctionPtr> defs) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<FunctionPtr> next;
  for (const FunctionPtr& def : all_) {
    if (def->source.library != library) {
      next.push_back(def);
    }
  }
  for (const FunctionPtr& def : defs) {
    for (const FunctionPtr& other : next) {
      if (def->bind_python && other->bind_python && def->name == other->name &&
          other->source.library != library) {
        throw Error("RegistrationError",
                    "function " + quoted(def->name) + " is registered twice\n  first:  " +
                        other->source.text() + "\n  second: " + def->source.text());
      }
    }
    next.push_back(def);
  }
  all_ = std::move(next);
  ++version_;
}

std::vector<FunctionPtr> Functions::signatures(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<FunctionPtr> found;
  for (const FunctionPtr& def : all_) {
    if (def->bind_python && def->name == name) {
      found.push_back(def);
    }
  }
  return found;
}

std::vector<std::string> Functions::names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const FunctionPtr& def : all_) {
    if (def->bind_python && std::find(names.begin(), names.end(), def->name) == names.end()) {
      names.push_back(def->name);
    }
  }
  return names;
}

FunctionPtr Functions::find_cpp(const std::string& cpp_name, size_t num_args) const {
  std::lock_guard<std::mutex> lock(mutex_);
  FunctionPtr found;
  for (const FunctionPtr& def : all_) {
    if (def->cpp_name == cpp_name && (found == nullptr || def->args.size() == num_args)) {
      found = def;
    }
  }
  return found;
}

int32_t call_function(const char* name, const oneop_value* args, int32_t num_args,
                      oneop_result* result, oneop_status* status) {
  int32_t code = ONEOP_OK;
  const int32_t failed = guard_service(status, [&] {
    if (std::strstr(name, "::") != nullptr) {
      return call_torch(name, args, num_args, result);
    }
    const FunctionPtr def = Functions::global().find_cpp(name, num_args);
    if (def == nullptr) {
      throw Error("OpNotFoundError", "Functor was not found for " + quoted(name) +
                                         ", please check whether the functor has been registered "
                                         "correctly or not.");
    }
    code = def->abi.call(def->abi.self, args, num_args, result, status);
  });
  return failed != ONEOP_OK ? failed : code;
}

}  // namespace oneop
