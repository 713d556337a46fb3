// abi_read.h: reading what a library hands over.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

namespace oneop {

// A struct from a library may be older (shorter) or newer (longer) than ours: take what both know.
template <typename T>
T take(const T* theirs) {
  T ours{};
  std::memcpy(&ours, theirs, std::min<size_t>(theirs->size, sizeof(T)));
  ours.size = sizeof(T);
  return ours;
}

inline std::string text(const char* string) { return string == nullptr ? "" : string; }

}  // namespace oneop
