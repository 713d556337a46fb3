// functions.cpp: the registry of functions.
#include "engine/ops/functions.h"

#include <algorithm>

#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"
#include "oneop/sdk/value_kinds.h"

namespace oneop {
namespace {

int32_t refuse_call(void* self, const oneop_value*, int32_t, oneop_result*, oneop_status* status) {
  return Status::fail(status, ONEOP_ERROR_NOT_IMPLEMENTED,
                      static_cast<const FunctionDef*>(self)->missing);
}

// One function without code keeps nobody from calling the others of its library: its own calls are
// refused, and who loads the library tells of all of them together.
void set_missing(FunctionDef* def) {
  const std::string reason = text(static_cast<const char*>(def->abi.self));
  def->missing = "Functor was not found for " + in_quotes(def->cpp_name) +
                 (reason.empty() ? "" : "\n  " + reason) + "\n  add m.add_functor<...>(" +
                 in_quotes(def->cpp_name) + ") with " + std::to_string(def->args.size()) +
                 " parameters, or define an op of this name in the library\n  at " +
                 def->source.text();
  def->abi.call = &refuse_call;
  def->abi.self = def;
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
  const std::string what = "function " + in_quotes(def->name) + ", ";
  const int32_t num_return_names =
      checked_count(def->abi.num_return_names, def->abi.return_names, what + "num_return_names");
  for (int32_t i = 0; i < num_return_names; ++i) {
    def->return_names.push_back(text(def->abi.return_names[i]));
  }
  const int32_t num_args = checked_count(def->abi.num_args, def->abi.args, what + "num_args");
  for (int32_t i = 0; i < num_args; ++i) {
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
  if (def->abi.call == nullptr) {
    set_missing(def.get());
  }
  return def;
}

Functions& Functions::global() {
  static Functions* functions = new Functions;
  return *functions;
}

Functions::Change Functions::prepare(const std::string& library,
                                     const std::vector<FunctionPtr>& defs) const {
  std::lock_guard<std::mutex> lock(mutex_);
  Change next;
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
                    "function " + in_quotes(def->name) + " is registered twice\n  first:  " +
                        other->source.text() + "\n  second: " + def->source.text());
      }
    }
    next.push_back(def);
  }
  return next;
}

void Functions::commit(Change* change) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  all_.swap(*change);
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

FunctionPtr Functions::find_cpp(const std::string& cpp_name, const oneop_value* args,
                                int32_t num_args) const {
  std::lock_guard<std::mutex> lock(mutex_);
  FunctionPtr found;
  int32_t best = -1;
  std::string signatures;
  for (const FunctionPtr& def : all_) {
    if (def->cpp_name != cpp_name) {
      continue;
    }
    signatures += "\n  " + def->text + " at " + def->source.text();
    int32_t total = def->args.size() == static_cast<size_t>(num_args) ? 0 : -1;
    for (int32_t i = 0; total >= 0 && i < num_args; ++i) {
      const int32_t fit = sdk::FitOf(def->args[i].type, def->args[i].is_optional, args[i]);
      total = fit == 0 ? -1 : total + fit;
    }
    if (total > best) {
      best = total;
      found = def;
    }
  }
  if (signatures.empty()) {
    throw Error("OpNotFoundError", "Functor was not found for " + in_quotes(cpp_name) +
                                       ", please check whether the functor has been registered "
                                       "correctly or not.");
  }
  if (found == nullptr) {
    throw Error("ArgumentError", "no function " + in_quotes(cpp_name) + " takes these " +
                                     std::to_string(num_args) + " arguments; there are" +
                                     signatures);
  }
  return found;
}

}  // namespace oneop
