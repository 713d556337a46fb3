// values.h: attribute values that own their data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oneop/abi.h"

namespace oneop {

// "float32[2, 3]"
std::string tensor_text(int32_t dtype, const int64_t* shape, int32_t ndim);

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
