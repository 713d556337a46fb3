// functions.h: functions that libraries describe: several signatures of a name, each with the code
// behind it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/ops/defs.h"

namespace oneop {

struct FunctionArg {
  std::string name;
  int32_t type = 0;
  int32_t list_size = 0;
  bool keyword_only = false;
  bool is_optional = false;
  bool has_default = false;
  oneop_value default_value{};  // its lists live in the library
};

struct FunctionDef {
  std::string name;
  std::string cpp_name;
  std::string text;
  std::string doc;
  Source source;
  bool bind_python = false;
  int32_t return_type = 0;
  std::vector<std::string> return_names;
  std::vector<FunctionArg> args;
  oneop_function_def abi{};
  std::string missing;  // why no call can be made; empty where one can
};

using FunctionPtr = std::shared_ptr<const FunctionDef>;

// Never forgets a name: Python may hold its object.
class Functions {
 public:
  static Functions& global();
  using Change = std::vector<FunctionPtr>;
  // All functions once those of the library replace what it said before. Throws RegistrationError
  // if another library has one of these names.
  Change prepare(const std::string& library, const std::vector<FunctionPtr>& defs) const;
  // Makes the change visible, and leaves in it what was replaced.
  void commit(Change* change) noexcept;
  std::vector<FunctionPtr> signatures(
      const std::string& name) const;  // bound ones, in the order of the file
  std::vector<std::string> names() const;
  // The signature that takes the values best. Throws OpNotFoundError where there is none of this
  // name, ArgumentError where none takes them.
  FunctionPtr find_cpp(const std::string& cpp_name, const oneop_value* args,
                       int32_t num_args) const;
  // Changes with every add, so that callers may keep what they found.
  static int64_t version() { return version_.load(std::memory_order_acquire); }

 private:
  mutable std::mutex mutex_;
  std::vector<FunctionPtr> all_;
  static inline std::atomic<int64_t> version_{0};
};

FunctionPtr read_function(const oneop_function_def* def, const std::string& library);

}  // namespace oneop
