// values.h: attribute values that own their data, and the names of the ABI's codes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// "float32[2, 3]"
std::string tensor_text(int32_t dtype, const int64_t* shape, int32_t ndim);

// A schema has no bytes, and its strings are UTF-8 wherever torch shows them to Python, in graphs
// and exported programs. So bytes travel as text: valid UTF-8 as it is, any other byte b as the
// character U+F700 + b, and characters of that block byte by byte. Every text is one value only.
std::string text_of_bytes(const std::string& bytes);
std::string bytes_of_text(const std::string& text);

struct AttrValue {
  int32_t type = 0;
  int64_t i = 0;
  double f = 0;
  std::string text;             // string, bytes
  std::vector<int64_t> int64s;  // shape, list of int64
  std::vector<int32_t> int32s;  // list of int32, list of dtype
  std::vector<float> floats;    // list of float
  std::vector<double> doubles;  // complex: real and imaginary part
  std::vector<uint8_t> bools;   // list of bool: 0 or 1
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> strings;

  static AttrValue copy_of(const oneop_attr& attr);
  // A view for the ABI. It points into this value, and `spans` must outlive it.
  oneop_attr view(const char* name, std::vector<oneop_span>* spans) const;
  // Appends what tells this value from other values.
  void append_key(std::vector<int64_t>* key) const;
  std::string repr() const;
  // By value, as Python and torch compare: -0.0 equals 0.0. Both have one type.
  bool equals(const AttrValue& other) const;
  // The number of items of a list.
  int64_t list_length() const;
};

void append_key_text(const std::string& text, std::vector<int64_t>* key);

}  // namespace oneop
