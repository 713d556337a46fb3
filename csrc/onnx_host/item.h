// item.h: the value of a node's attribute. ONNX has numbers of 64 and 32 bits, texts and lists of
// numbers; all else is written as JSON in a text, with inf, -inf and nan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oneop {

struct Item {
  enum Kind { kNull, kBool, kInt, kReal, kText, kList, kOther };  // kOther: no value of an op
  Kind kind = kNull;
  int64_t integer = 0;  // of a bool too
  double real = 0;
  std::string text;
  std::vector<Item> items;

  static Item of(int64_t integer);
  static Item of(double real);
  static Item of(std::string text);

  bool is_number() const { return kind == kInt || kind == kReal; }
  double number() const { return kind == kInt ? static_cast<double>(integer) : real; }
};

// False: the text is not JSON.
bool read_json(std::string_view text, Item* item);

}  // namespace oneop
