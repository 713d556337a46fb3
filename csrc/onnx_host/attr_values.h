// attr_values.h: values of a node's attributes as those of an op.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "oneop/runtime.h"
#include "onnx_host/item.h"

namespace oneop {

// An attribute and what it points to.
struct OwnedAttr {
  oneop_attr attr{};
  std::string name;
  std::string text;
  std::vector<int64_t> int64s;
  std::vector<int32_t> int32s;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<uint8_t> bools;
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::string> texts;
  std::vector<oneop_span> spans;
};

// Null: the item is not of the type that the op declares.
std::unique_ptr<OwnedAttr> make_attr(const oneop_attr_def& attr, Item item);

}  // namespace oneop
