// owned_values.cpp: deep copies, by the kinds of abi.h.
#include "c_host/owned_values.h"

#include <cstring>

#include "engine/ops/abi_read.h"

namespace oneop {
namespace {

// The size of an element of a value's list; 0 where the value has no list.
size_t element_size(int32_t kind) {
  switch (kind) {
    case ONEOP_VALUE_STRING:
      return 1;
    case ONEOP_VALUE_INTS:
    case ONEOP_VALUE_FLOATS:
    case ONEOP_VALUE_DTYPES:
    case ONEOP_VALUE_DEVICE:
    case ONEOP_VALUE_BLOBS:
      return 8;
    case ONEOP_VALUE_STRINGS:
    case ONEOP_VALUE_SHAPES:
      return sizeof(oneop_span);
    case ONEOP_VALUE_SCALARS:
      return sizeof(oneop_value);
    default:
      return 0;
  }
}

const int64_t* blobs_of(const oneop_value& value) {
  return static_cast<const int64_t*>(value.value.list.data);
}

}  // namespace

OwnedValues::OwnedValues(const oneop_value* args, int32_t num_args) {
  for (int32_t i = 0; i < num_args; ++i) {
    values_.push_back(copy(args[i]));
  }
}

const void* OwnedValues::keep(const void* data, size_t bytes) {
  const auto* begin = static_cast<const char*>(data);
  blocks_.emplace_back(begin, begin + bytes);
  return blocks_.back().data();
}

oneop_value OwnedValues::copy(const oneop_value& value) {
  oneop_value own = value;
  const size_t size = element_size(value.kind);
  if (size == 0) {
    return own;
  }
  const oneop_span& list = value.value.list;
  checked_count(list.count, list.data, "the length of a list among the arguments", kMaxListLength);
  own.value.list.data = keep(list.data, size * list.count);
  if (value.kind == ONEOP_VALUE_STRINGS || value.kind == ONEOP_VALUE_SHAPES) {
    const size_t inner = value.kind == ONEOP_VALUE_STRINGS ? 1 : sizeof(int64_t);
    auto* spans = static_cast<oneop_span*>(const_cast<void*>(own.value.list.data));
    for (int64_t i = 0; i < list.count; ++i) {
      spans[i].data = keep(spans[i].data, inner * spans[i].count);
    }
  }
  return own;
}

std::vector<int32_t> OwnedValues::blobs() const {
  std::vector<int32_t> blobs;
  for (const oneop_value& value : values_) {
    if (value.kind == ONEOP_VALUE_BLOB) {
      blobs.push_back(static_cast<int32_t>(value.value.i));
    }
    for (int64_t i = 0; value.kind == ONEOP_VALUE_BLOBS && i < value.value.list.count; ++i) {
      if (blobs_of(value)[i] >= 0) {
        blobs.push_back(static_cast<int32_t>(blobs_of(value)[i]));
      }
    }
  }
  return blobs;
}

std::vector<oneop_value> OwnedValues::with_blobs(const std::vector<int32_t>& blobs,
                                                 std::deque<std::vector<int64_t>>* lists) const {
  std::vector<oneop_value> values = values_;
  size_t next = 0;
  for (oneop_value& value : values) {
    if (value.kind == ONEOP_VALUE_BLOB) {
      value.value.i = blobs[next++];
    } else if (value.kind == ONEOP_VALUE_BLOBS) {
      lists->emplace_back(blobs_of(value), blobs_of(value) + value.value.list.count);
      for (int64_t& blob : lists->back()) {
        blob = blob >= 0 ? blobs[next++] : blob;
      }
      value.value.list.data = lists->back().data();
    }
  }
  return values;
}

}  // namespace oneop
