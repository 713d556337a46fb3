// ort.cpp: see ort.h.
#include "onnx_host/ort.h"

#include <iterator>

namespace oneop::ort {
namespace {

Functions functions;

struct Pair {
  int32_t code;
  int dtype;
};

constexpr Pair kDtypes[] = {
    {ONEOP_DTYPE_FLOAT32, kFloat32},
    {ONEOP_DTYPE_FLOAT64, kFloat64},
    {ONEOP_DTYPE_FLOAT16, kFloat16},
    {ONEOP_DTYPE_BFLOAT16, kBfloat16},
    {ONEOP_DTYPE_BOOL, kBool},
    {ONEOP_DTYPE_INT8, kInt8},
    {ONEOP_DTYPE_INT16, kInt16},
    {ONEOP_DTYPE_INT32, kInt32},
    {ONEOP_DTYPE_INT64, kInt64},
    {ONEOP_DTYPE_UINT8, kUint8},
    {ONEOP_DTYPE_UINT16, kUint16},
    {ONEOP_DTYPE_UINT32, kUint32},
    {ONEOP_DTYPE_UINT64, kUint64},
    {ONEOP_DTYPE_COMPLEX64, kComplex64},
    {ONEOP_DTYPE_COMPLEX128, kComplex128},
    {ONEOP_DTYPE_FLOAT8_E4M3FN, kFloat8E4M3fn},
    {ONEOP_DTYPE_FLOAT8_E4M3FNUZ, kFloat8E4M3fnuz},
    {ONEOP_DTYPE_FLOAT8_E5M2, kFloat8E5M2},
    {ONEOP_DTYPE_FLOAT8_E5M2FNUZ, kFloat8E5M2fnuz},
};

}  // namespace

const Functions& api() { return functions; }

bool use_functions(const ApiBase& base) {
  const auto* table = static_cast<void* const*>(base.table(kVersion));
  if (table == nullptr) {
    return false;
  }
#define ONEOP_TAKE(name, place, since, result, parameters)               \
  static_assert(since <= kVersion, #name " is of a later ONNX Runtime"); \
  functions.name = reinterpret_cast<result(*) parameters>(table[place]);
  ONEOP_ORT_FUNCTIONS(ONEOP_TAKE)
#undef ONEOP_TAKE
  return true;
}

const oneop_runtime& runtime() {
  static const oneop_runtime* table = oneop_get_runtime(ONEOP_RUNTIME_MAJOR);
  return *table;
}

std::string take_message(Status* status) {
  if (status == nullptr) {
    return "";
  }
  std::string message = api().status_message(status);
  api().release_status(status);
  return message.empty() ? "ONNX Runtime gave no reason" : message;
}

void check(Status* status) {
  if (status != nullptr) {
    throw Failure(take_message(status));
  }
}

void throw_last_error() { throw Failure(runtime().last_error()); }

Spec spec_of(const TensorInfo* info) {
  Spec spec;
  int dtype = kUndefined;
  check(api().dtype(info, &dtype));
  spec.dtype = code_of(dtype);
  size_t rank = 0;
  check(api().rank(info, &rank));
  spec.sizes.resize(rank);
  check(api().sizes(info, spec.sizes.data(), rank));
  return spec;
}

int32_t code_of(int dtype) {
  for (const Pair& pair : kDtypes) {
    if (pair.dtype == dtype) {
      return pair.code;
    }
  }
  return ONEOP_DTYPE_INVALID;
}

int dtype_of_code(int32_t code) {
  for (const Pair& pair : kDtypes) {
    if (pair.code == code) {
      return pair.dtype;
    }
  }
  return kUndefined;
}

}  // namespace oneop::ort
