// torch_types.h: the ABI's codes in torch's words and back.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "oneop/abi.h"

namespace oneop {

// ONEOP_DTYPE_INVALID where the ABI has no such dtype.
inline int32_t to_abi(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return ONEOP_DTYPE_FLOAT32;
    case c10::ScalarType::Double:
      return ONEOP_DTYPE_FLOAT64;
    case c10::ScalarType::Half:
      return ONEOP_DTYPE_FLOAT16;
    case c10::ScalarType::BFloat16:
      return ONEOP_DTYPE_BFLOAT16;
    case c10::ScalarType::Char:
      return ONEOP_DTYPE_INT8;
    case c10::ScalarType::Short:
      return ONEOP_DTYPE_INT16;
    case c10::ScalarType::Int:
      return ONEOP_DTYPE_INT32;
    case c10::ScalarType::Long:
      return ONEOP_DTYPE_INT64;
    case c10::ScalarType::Byte:
      return ONEOP_DTYPE_UINT8;
    case c10::ScalarType::UInt16:
      return ONEOP_DTYPE_UINT16;
    case c10::ScalarType::UInt32:
      return ONEOP_DTYPE_UINT32;
    case c10::ScalarType::UInt64:
      return ONEOP_DTYPE_UINT64;
    case c10::ScalarType::Bool:
      return ONEOP_DTYPE_BOOL;
    case c10::ScalarType::ComplexHalf:
      return ONEOP_DTYPE_COMPLEX32;
    case c10::ScalarType::ComplexFloat:
      return ONEOP_DTYPE_COMPLEX64;
    case c10::ScalarType::ComplexDouble:
      return ONEOP_DTYPE_COMPLEX128;
    case c10::ScalarType::Float8_e4m3fn:
      return ONEOP_DTYPE_FLOAT8_E4M3FN;
    case c10::ScalarType::Float8_e5m2:
      return ONEOP_DTYPE_FLOAT8_E5M2;
    case c10::ScalarType::Float8_e4m3fnuz:
      return ONEOP_DTYPE_FLOAT8_E4M3FNUZ;
    case c10::ScalarType::Float8_e5m2fnuz:
      return ONEOP_DTYPE_FLOAT8_E5M2FNUZ;
    default:
      return ONEOP_DTYPE_INVALID;
  }
}

inline c10::ScalarType to_torch(int32_t dtype) {
  switch (dtype) {
    case ONEOP_DTYPE_FLOAT32:
      return c10::ScalarType::Float;
    case ONEOP_DTYPE_FLOAT64:
      return c10::ScalarType::Double;
    case ONEOP_DTYPE_FLOAT16:
      return c10::ScalarType::Half;
    case ONEOP_DTYPE_BFLOAT16:
      return c10::ScalarType::BFloat16;
    case ONEOP_DTYPE_INT8:
      return c10::ScalarType::Char;
    case ONEOP_DTYPE_INT16:
      return c10::ScalarType::Short;
    case ONEOP_DTYPE_INT32:
      return c10::ScalarType::Int;
    case ONEOP_DTYPE_INT64:
      return c10::ScalarType::Long;
    case ONEOP_DTYPE_UINT8:
    case ONEOP_DTYPE_CHAR:
      return c10::ScalarType::Byte;
    case ONEOP_DTYPE_UINT16:
      return c10::ScalarType::UInt16;
    case ONEOP_DTYPE_UINT32:
      return c10::ScalarType::UInt32;
    case ONEOP_DTYPE_UINT64:
      return c10::ScalarType::UInt64;
    case ONEOP_DTYPE_BOOL:
      return c10::ScalarType::Bool;
    case ONEOP_DTYPE_COMPLEX32:
      return c10::ScalarType::ComplexHalf;
    case ONEOP_DTYPE_COMPLEX64:
      return c10::ScalarType::ComplexFloat;
    case ONEOP_DTYPE_COMPLEX128:
      return c10::ScalarType::ComplexDouble;
    case ONEOP_DTYPE_FLOAT8_E4M3FN:
      return c10::ScalarType::Float8_e4m3fn;
    case ONEOP_DTYPE_FLOAT8_E5M2:
      return c10::ScalarType::Float8_e5m2;
    case ONEOP_DTYPE_FLOAT8_E4M3FNUZ:
      return c10::ScalarType::Float8_e4m3fnuz;
    case ONEOP_DTYPE_FLOAT8_E5M2FNUZ:
      return c10::ScalarType::Float8_e5m2fnuz;
    default:
      return c10::ScalarType::Undefined;
  }
}

inline int32_t to_abi(c10::DeviceType type) {
  switch (type) {
    case c10::DeviceType::CPU:
      return ONEOP_DEVICE_CPU;
    case c10::DeviceType::CUDA:
      return ONEOP_DEVICE_CUDA;
    case c10::DeviceType::Meta:
      return ONEOP_DEVICE_META;
    default:
      return ONEOP_DEVICE_INVALID;
  }
}

inline c10::Device to_torch_device(int32_t type, int64_t index) {
  const bool is_cuda = type == ONEOP_DEVICE_CUDA;
  const c10::DeviceType kind = is_cuda                     ? c10::kCUDA
                               : type == ONEOP_DEVICE_META ? c10::kMeta
                                                           : c10::kCPU;
  return c10::Device(kind, static_cast<c10::DeviceIndex>(is_cuda ? index : -1));
}

}  // namespace oneop
