// codes.h: names and kinds of the ABI's codes: dtypes, devices, types of attributes.
#pragma once

#include <cstdint>
#include <string>

#include "oneop/abi.h"

namespace oneop {

std::string dtype_name(int32_t dtype);         // "float32"
std::string device_name(int32_t device_type);  // "cpu"
std::string attr_type_name(int32_t type);      // "int32", "list of float"
bool is_dtype(int32_t dtype);
bool is_attr_type(int32_t type);
// Whether a value of this type may be one of a scalar, ONEOP_ATTR_SCALAR.
bool is_scalar_kind(int32_t type);
// Whether attributes of this type are lists whose length a definition may fix.
bool is_list_type(int32_t type);
// Whether one number stands for all items of such a list, as torch's schemas have it.
bool is_spread(int32_t list_type);

}  // namespace oneop
