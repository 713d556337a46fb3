// attr_words.h: attribute values as numbers, for programs that have no type for them.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ops/defs.h"

namespace oneop {

// One value after the other: its type, then its number, or the length and content of its list.
std::vector<int64_t> words_of(const std::vector<AttrValue>& values);

// The values of all attributes of the op. Throws ArgumentError unless the words are just that.
std::vector<AttrValue> values_of(const OpDef& op, const int64_t* words, int64_t count);

}  // namespace oneop
