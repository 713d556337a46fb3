// The data types of tensors, their C++ types, names and groups.
#ifndef ONEFLOW_CORE_COMMON_DATA_TYPE_H_
#define ONEFLOW_CORE_COMMON_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "oneflow/core/common/check.h"
#include "oneflow/core/common/data_type_seq.h"
#include "oneflow/core/common/float16.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

// The numbers are those of the ABI, so a cast is the whole translation. kOFRecord and the like
// exist for the sake of sources that name them; no tensor has them.
enum DataType : int32_t {
  kInvalidDataType = ONEOP_DTYPE_INVALID,
  kChar = ONEOP_DTYPE_CHAR,
  kFloat = ONEOP_DTYPE_FLOAT32,
  kDouble = ONEOP_DTYPE_FLOAT64,
  kInt8 = ONEOP_DTYPE_INT8,
  kInt32 = ONEOP_DTYPE_INT32,
  kInt64 = ONEOP_DTYPE_INT64,
  kUInt8 = ONEOP_DTYPE_UINT8,
  kOFRecord = 8,
  kFloat16 = ONEOP_DTYPE_FLOAT16,
  kTensorBuffer = 10,
  kBFloat16 = ONEOP_DTYPE_BFLOAT16,
  kBool = ONEOP_DTYPE_BOOL,
  kUInt16 = ONEOP_DTYPE_UINT16,
  kUInt32 = ONEOP_DTYPE_UINT32,
  kUInt64 = ONEOP_DTYPE_UINT64,
  kUInt128 = 16,
  kInt16 = ONEOP_DTYPE_INT16,
  kInt128 = 18,
  kComplex32 = ONEOP_DTYPE_COMPLEX32,
  kComplex64 = ONEOP_DTYPE_COMPLEX64,
  kComplex128 = ONEOP_DTYPE_COMPLEX128,
  kFloat8E4M3FN = ONEOP_DTYPE_FLOAT8_E4M3FN,
  kFloat8E5M2 = ONEOP_DTYPE_FLOAT8_E5M2,
  kFloat8E4M3FNUZ = ONEOP_DTYPE_FLOAT8_E4M3FNUZ,
  kFloat8E5M2FNUZ = ONEOP_DTYPE_FLOAT8_E5M2FNUZ,
};

struct DataTypeFacts {
  const char* name;
  const char* cpp_name;
  int32_t size;
};

// By number: a table compiles to no code.
inline const DataTypeFacts& FactsOf(DataType type) {
  static constexpr DataTypeFacts kFacts[] = {
      {"kInvalidDataType", "", 0},
      {"kChar", "char", 1},
      {"kFloat", "float", 4},
      {"kDouble", "double", 8},
      {"kInt8", "int8_t", 1},
      {"kInt32", "int32_t", 4},
      {"kInt64", "int64_t", 8},
      {"kUInt8", "uint8_t", 1},
      {"kOFRecord", "OFRecord", 0},
      {"kFloat16", "float16", 2},
      {"kTensorBuffer", "TensorBuffer", 0},
      {"kBFloat16", "bfloat16", 2},
      {"kBool", "bool", 1},
      {"kUInt16", "uint16_t", 2},
      {"kUInt32", "uint32_t", 4},
      {"kUInt64", "uint64_t", 8},
      {"kUInt128", "uint128_t", 16},
      {"kInt16", "int16_t", 2},
      {"kInt128", "int128_t", 16},
      {"kComplex32", "complex<float16>", 4},
      {"kComplex64", "std::complex<float>", 8},
      {"kComplex128", "std::complex<double>", 16},
      {"kFloat8E4M3FN", "float8", 1},
      {"kFloat8E5M2", "float8", 1},
      {"kFloat8E4M3FNUZ", "float8", 1},
      {"kFloat8E5M2FNUZ", "float8", 1},
      {"an unknown data type", "", 0},
  };
  constexpr int32_t kLast = kComplex128, kFloat8 = kFloat8E4M3FN, kUnknown = kLast + 5;
  const int32_t code = type;
  const bool is_float8 = code >= kFloat8 && code < kFloat8 + 4;
  return kFacts[code >= 0 && code <= kLast ? code
                : is_float8                ? code - kFloat8 + kLast + 1
                                           : kUnknown];
}

inline const char* OneopEnumName(DataType type) { return FactsOf(type).name; }
inline std::string DataType_Name(DataType type) { return FactsOf(type).name; }
inline size_t GetSizeOfDataType(DataType type) { return FactsOf(type).size; }

template <class T>
struct GetDataType;
#define ONEOP_DATA_TYPE_OF(cpp, code)                    \
  template <>                                            \
  struct GetDataType<cpp> {                              \
    static constexpr DataType value = code;              \
    constexpr operator DataType() const { return code; } \
  };
ONEOP_DATA_TYPE_OF(void, kChar)
ONEOP_DATA_TYPE_OF(char, kChar)
ONEOP_DATA_TYPE_OF(float, kFloat)
ONEOP_DATA_TYPE_OF(double, kDouble)
ONEOP_DATA_TYPE_OF(int8_t, kInt8)
ONEOP_DATA_TYPE_OF(int16_t, kInt16)
ONEOP_DATA_TYPE_OF(int32_t, kInt32)
ONEOP_DATA_TYPE_OF(int64_t, kInt64)
ONEOP_DATA_TYPE_OF(long long, kInt64)
ONEOP_DATA_TYPE_OF(uint8_t, kUInt8)
ONEOP_DATA_TYPE_OF(uint16_t, kUInt16)
ONEOP_DATA_TYPE_OF(uint32_t, kUInt32)
ONEOP_DATA_TYPE_OF(uint64_t, kUInt64)
ONEOP_DATA_TYPE_OF(unsigned long long, kUInt64)
ONEOP_DATA_TYPE_OF(bool, kBool)
ONEOP_DATA_TYPE_OF(float16, kFloat16)
ONEOP_DATA_TYPE_OF(bfloat16, kBFloat16)
#if defined(__CUDACC__)
ONEOP_DATA_TYPE_OF(half, kFloat16)
ONEOP_DATA_TYPE_OF(nv_bfloat16, kBFloat16)
#endif

inline bool IsBoolDataType(DataType t) { return t == kBool; }
inline bool IsFloatingDataType(DataType t) {
  return t == kFloat || t == kDouble || t == kFloat16 || t == kBFloat16;
}
inline bool IsHalfDataType(DataType t) { return t == kFloat16 || t == kBFloat16; }
inline bool IsComplexDataType(DataType t) {
  return t == kComplex32 || t == kComplex64 || t == kComplex128;
}
inline bool IsIndexDataType(DataType t) { return t == kInt32 || t == kInt64; }
inline bool IsUnsignedIntegralDataType(DataType t) {
  return t == kUInt8 || t == kUInt16 || t == kUInt32 || t == kUInt64 || t == kUInt128;
}
inline bool IsIntegralDataType(DataType t) {
  return t == kInt8 || t == kInt16 || t == kInt32 || t == kInt64 || t == kInt128 ||
         IsUnsignedIntegralDataType(t);
}
inline bool IsPODDataType(DataType t) { return FactsOf(t).size != 0; }
inline bool IsPODAndHalfDataType(DataType t) { return IsPODDataType(t); }
inline bool IsTriviallyCopyableDataType(DataType t) { return IsPODDataType(t); }
inline bool IsSupportRequireGradDataType(DataType t) {
  return IsFloatingDataType(t) || IsComplexDataType(t);
}

template <class T>
OF_DEVICE_FUNC T GetZeroVal() {
  return static_cast<T>(0);
}
template <class T>
OF_DEVICE_FUNC T GetOneVal() {
  return static_cast<T>(1);
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_DATA_TYPE_H_
