// value_memory.h: memory behind the lists of one call's arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "oneop/abi.h"

namespace oneop {

class ValueMemory {
 public:
  template <typename T>
  oneop_span keep(std::vector<T> list) {
    const auto held = std::make_shared<std::vector<T>>(std::move(list));
    lists_.push_back(held);
    return {held->data(), static_cast<int64_t>(held->size())};
  }

 private:
  std::vector<std::shared_ptr<void>> lists_;
};

}  // namespace oneop
