// function_call.h: what a library asks for by name through its host's call_function: a function of
// another library, or an op of the framework.
#pragma once

#include "oneop/abi.h"

namespace oneop {

// Whether the name is of the framework, `aten::mul.Tensor`, and not of a library.
bool is_framework_name(const char* name);

// The first symbol among the arguments, or null: a tensor that does not exist yet, of a gradient
// that is being recorded.
oneop_symbol* find_symbol(const oneop_value* args, int32_t num_args);

// Has the owner of the symbol record a call of the framework. Throws OpNotImplementedError where
// its library is too old for that.
int32_t record_framework_call(oneop_symbol* symbol, const char* name, const oneop_value* args,
                              int32_t num_args, oneop_result* result, oneop_status* status);

// Calls a function of any loaded library by its C++ name. Throws as Functions::find_cpp does.
int32_t call_library_function(const char* name, const oneop_value* args, int32_t num_args,
                              oneop_result* result, oneop_status* status);

}  // namespace oneop
