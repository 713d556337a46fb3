// function_call.cpp: see function_call.h.
#include "engine/calls/function_call.h"

#include <cstring>

#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"
#include "engine/ops/functions.h"

namespace oneop {

bool is_framework_name(const char* name) { return std::strstr(name, "::") != nullptr; }

oneop_symbol* find_symbol(const oneop_value* args, int32_t num_args) {
  const auto symbol_of = [](oneop_handle handle) {
    const auto address = reinterpret_cast<uintptr_t>(handle);
    return (address & 1) != 0 ? reinterpret_cast<oneop_symbol*>(address - 1) : nullptr;
  };
  for (int32_t i = 0; i < num_args; ++i) {
    const bool is_list = args[i].kind == ONEOP_VALUE_TENSORS;
    const auto* handles =
        is_list ? static_cast<const oneop_handle*>(args[i].value.list.data) : &args[i].value.tensor;
    const int64_t count = is_list                              ? args[i].value.list.count
                          : args[i].kind == ONEOP_VALUE_TENSOR ? 1
                                                               : 0;
    for (int64_t k = 0; k < count; ++k) {
      if (oneop_symbol* symbol = symbol_of(handles[k])) {
        return symbol;
      }
    }
  }
  return nullptr;
}

int32_t record_framework_call(oneop_symbol* symbol, const char* name, const oneop_value* args,
                              int32_t num_args, oneop_result* result, oneop_status* status) {
  const auto record = take(symbol).record_function;
  if (record == nullptr) {
    throw Error("OpNotImplementedError",
                text(name) +
                    " is called in a gradient of a library that was built with an older oneop\n"
                    "  rebuild that library");
  }
  return record(symbol, name, args, num_args, result, status);
}

int32_t call_library_function(const char* name, const oneop_value* args, int32_t num_args,
                              oneop_result* result, oneop_status* status) {
  const FunctionPtr def = Functions::global().find_cpp(name, args, num_args);
  return def->abi.call(def->abi.self, args, num_args, result, status);
}

}  // namespace oneop
