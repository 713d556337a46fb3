// oneflow/core/common/data_type.h: the data types of tensors, their C++ types, names and groups.
#ifndef ONEFLOW_CORE_COMMON_DATA_TYPE_H_
#define ONEFLOW_CORE_COMMON_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "oneflow/core/common/check.h"
#include "oneflow/core/common/data_type_seq.h"
#include "oneflow/core/common/float16.h"

namespace oneflow ONEOP_HIDDEN {

// The numbers are those of the ABI, so a cast is the whole translation. kOFRecord and the like exist for the sake of
// sources that name them; no tensor has them.
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
  uint8_t size;
};

ONEOP_COLD inline DataTypeFacts FactsOf(DataType type) {
  switch (type) {
    case kInvalidDataType: return {"kInvalidDataType", 0};
    case kChar: return {"kChar", 1};
    case kFloat: return {"kFloat", 4};
    case kDouble: return {"kDouble", 8};
    case kInt8: return {"kInt8", 1};
    case kInt32: return {"kInt32", 4};
    case kInt64: return {"kInt64", 8};
    case kUInt8: return {"kUInt8", 1};
    case kOFRecord: return {"kOFRecord", 0};
    case kFloat16: return {"kFloat16", 2};
    case kTensorBuffer: return {"kTensorBuffer", 0};
    case kBFloat16: return {"kBFloat16", 2};
    case kBool: return {"kBool", 1};
    case kUInt16: return {"kUInt16", 2};
    case kUInt32: return {"kUInt32", 4};
    case kUInt64: return {"kUInt64", 8};
    case kUInt128: return {"kUInt128", 16};
    case kInt16: return {"kInt16", 2};
    case kInt128: return {"kInt128", 16};
    case kComplex32: return {"kComplex32", 4};
    case kComplex64: return {"kComplex64", 8};
    case kComplex128: return {"kComplex128", 16};
    case kFloat8E4M3FN: return {"kFloat8E4M3FN", 1};
    case kFloat8E5M2: return {"kFloat8E5M2", 1};
    case kFloat8E4M3FNUZ: return {"kFloat8E4M3FNUZ", 1};
    case kFloat8E5M2FNUZ: return {"kFloat8E5M2FNUZ", 1};
  }
  return {"an unknown data type", 0};
}

inline const char* OneopEnumName(DataType type) { return FactsOf(type).name; }
inline std::string DataType_Name(DataType type) { return FactsOf(type).name; }
inline size_t GetSizeOfDataType(DataType type) { return FactsOf(type).size; }

template <class T>
struct GetDataType;
#define ONEOP_DATA_TYPE_OF(cpp, code)              \
  template <>                                      \
  struct GetDataType<cpp> {                        \
    static constexpr DataType value = code;        \
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
inline T GetZeroVal() {
  return static_cast<T>(0);
}
template <class T>
inline T GetOneVal() {
  return static_cast<T>(1);
}

}  // namespace oneflow

#endif  // ONEFLOW_CORE_COMMON_DATA_TYPE_H_
