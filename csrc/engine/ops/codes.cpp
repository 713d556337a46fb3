// codes.cpp: the tables of names.
#include "engine/ops/codes.h"

#include <cstddef>
#include <utility>

namespace oneop {
namespace {

using Name = std::pair<int32_t, const char*>;

constexpr Name kDtypes[] = {
    {ONEOP_DTYPE_CHAR, "bytes"},
    {ONEOP_DTYPE_FLOAT32, "float32"},
    {ONEOP_DTYPE_FLOAT64, "float64"},
    {ONEOP_DTYPE_INT8, "int8"},
    {ONEOP_DTYPE_INT32, "int32"},
    {ONEOP_DTYPE_INT64, "int64"},
    {ONEOP_DTYPE_UINT8, "uint8"},
    {ONEOP_DTYPE_FLOAT16, "float16"},
    {ONEOP_DTYPE_BFLOAT16, "bfloat16"},
    {ONEOP_DTYPE_BOOL, "bool"},
    {ONEOP_DTYPE_UINT16, "uint16"},
    {ONEOP_DTYPE_UINT32, "uint32"},
    {ONEOP_DTYPE_UINT64, "uint64"},
    {ONEOP_DTYPE_INT16, "int16"},
    {ONEOP_DTYPE_COMPLEX32, "complex32"},
    {ONEOP_DTYPE_COMPLEX64, "complex64"},
    {ONEOP_DTYPE_COMPLEX128, "complex128"},
    {ONEOP_DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn"},
    {ONEOP_DTYPE_FLOAT8_E5M2, "float8_e5m2"},
    {ONEOP_DTYPE_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz"},
    {ONEOP_DTYPE_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz"},
};

constexpr Name kDevices[] = {
    {ONEOP_DEVICE_CPU, "cpu"}, {ONEOP_DEVICE_CUDA, "cuda"}, {ONEOP_DEVICE_META, "meta"}};

constexpr Name kAttrTypes[] = {
    {ONEOP_ATTR_INT32, "int32"},
    {ONEOP_ATTR_INT64, "int64"},
    {ONEOP_ATTR_BOOL, "bool"},
    {ONEOP_ATTR_FLOAT, "float"},
    {ONEOP_ATTR_DOUBLE, "double"},
    {ONEOP_ATTR_STRING, "string"},
    {ONEOP_ATTR_SHAPE, "shape"},
    {ONEOP_ATTR_DTYPE, "dtype"},
    {ONEOP_ATTR_LIST_INT32, "list of int32"},
    {ONEOP_ATTR_LIST_INT64, "list of int64"},
    {ONEOP_ATTR_LIST_FLOAT, "list of float"},
    {ONEOP_ATTR_LIST_DOUBLE, "list of double"},
    {ONEOP_ATTR_LIST_DTYPE, "list of dtype"},
    {ONEOP_ATTR_LIST_SHAPE, "list of shape"},
    {ONEOP_ATTR_LIST_STRING, "list of string"},
    {ONEOP_ATTR_COMPLEX_DOUBLE, "complex"},
    {ONEOP_ATTR_BYTES, "bytes"},
    {ONEOP_ATTR_LIST_BOOL, "list of bool"},
    {ONEOP_ATTR_SCALAR, "scalar"},
};

template <size_t N>
const char* find_name(const Name (&names)[N], int32_t code) {
  for (const Name& name : names) {
    if (name.first == code) {
      return name.second;
    }
  }
  return nullptr;
}

}  // namespace

std::string dtype_name(int32_t dtype) {
  const char* name = find_name(kDtypes, dtype);
  return name == nullptr ? "dtype " + std::to_string(dtype) : name;
}

std::string device_name(int32_t device_type) {
  const char* name = find_name(kDevices, device_type);
  return name == nullptr ? "device type " + std::to_string(device_type) : name;
}

std::string attr_type_name(int32_t type) {
  if (type == ONEOP_ATTR_NONE) {
    return "None";
  }
  const char* name = find_name(kAttrTypes, type);
  return name == nullptr ? "attribute type " + std::to_string(type) : name;
}

bool is_dtype(int32_t dtype) { return find_name(kDtypes, dtype) != nullptr; }

bool is_attr_type(int32_t type) { return find_name(kAttrTypes, type) != nullptr; }

bool is_scalar_kind(int32_t type) {
  return type == ONEOP_ATTR_INT64 || type == ONEOP_ATTR_DOUBLE || type == ONEOP_ATTR_BOOL ||
         type == ONEOP_ATTR_COMPLEX_DOUBLE;
}

bool is_list_type(int32_t type) {
  return is_spread(type) || type == ONEOP_ATTR_LIST_BOOL || type == ONEOP_ATTR_LIST_STRING ||
         type == ONEOP_ATTR_LIST_DTYPE || type == ONEOP_ATTR_LIST_SHAPE;
}

bool is_spread(int32_t list_type) {
  return list_type == ONEOP_ATTR_LIST_INT64 || list_type == ONEOP_ATTR_LIST_INT32 ||
         list_type == ONEOP_ATTR_LIST_DOUBLE || list_type == ONEOP_ATTR_LIST_FLOAT;
}

}  // namespace oneop
