// owned_values.h: the arguments of a call of the framework, kept beyond the call that gave them.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "oneop/abi.h"

namespace oneop {

class OwnedValues {
 public:
  OwnedValues(const oneop_value* args, int32_t num_args);
  OwnedValues(const OwnedValues&) = delete;
  OwnedValues& operator=(const OwnedValues&) = delete;

  const std::vector<oneop_value>& values() const { return values_; }
  // The blobs of all arguments, one after the other; gaps in lists left out.
  std::vector<int32_t> blobs() const;
  // The same values with these blobs in the place of their own; `lists` keeps their lists.
  std::vector<oneop_value> with_blobs(const std::vector<int32_t>& blobs,
                                      std::deque<std::vector<int64_t>>* lists) const;

 private:
  oneop_value copy(const oneop_value& value);
  const void* keep(const void* data, size_t bytes);

  std::deque<std::vector<char>> blocks_;
  std::vector<oneop_value> values_;
};

}  // namespace oneop
