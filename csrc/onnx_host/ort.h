// ort.h: ONNX Runtime's functions, and its failures as exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "oneop/runtime.h"
#include "onnx_host/ort_abi.h"

namespace oneop::ort {

struct Functions {
#define ONEOP_DECLARE(name, place, since, result, parameters) result(*name) parameters = nullptr;
  ONEOP_ORT_FUNCTIONS(ONEOP_DECLARE)
#undef ONEOP_DECLARE
};

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of the program; empty until use_functions.
const Functions& api();
// False: this ONNX Runtime is too old.
bool use_functions(const ApiBase& base);

// The runtime of this library.
const oneop_runtime& runtime();

// The message of a failure, which is released; empty: there was none.
std::string take_message(Status* status);
void check(Status* status);  // throws Failure
[[noreturn]] void throw_last_error();

// Runs `act`; what it throws becomes a Status.
template <typename Act>
Status* guarded(const Act& act) noexcept {
  try {
    act();
    return nullptr;
  } catch (const std::exception& error) {
    return api().create_status(kFail, error.what());
  } catch (...) {
    return api().create_status(kFail, "oneop: an exception of an unknown type");
  }
}

struct Spec {
  int32_t dtype = ONEOP_DTYPE_INVALID;  // of oneop/abi.h
  std::vector<int64_t> sizes;           // -1: not known yet
};
Spec spec_of(const TensorInfo* info);

int32_t code_of(int dtype);       // ONEOP_DTYPE_INVALID: oneop has none such
int dtype_of_code(int32_t code);  // kUndefined: ONNX has none such

}  // namespace oneop::ort
