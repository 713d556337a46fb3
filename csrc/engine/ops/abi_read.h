// abi_read.h: reading what a library hands over. Every size, count and pointer is checked before it
// is used: a library may be written in C by hand, or be damaged. Pointers themselves cannot be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "engine/ops/error.h"
#include "oneop/abi.h"

namespace oneop {

// More of anything than a real library has; beyond it a number is garbage.
constexpr int64_t kMaxCount = 1 << 16;
constexpr int64_t kMaxListLength = 1 << 24;

// How messages name a struct, and the size that it had in ABI 1.0.
template <typename T>
struct AbiStruct;

#define ONEOP_ABI_STRUCT(type, first_size)           \
  template <>                                        \
  struct AbiStruct<type> {                           \
    static constexpr const char* kName = #type;      \
    static constexpr size_t kFirstSize = first_size; \
  };
ONEOP_ABI_STRUCT(oneop_library, offsetof(oneop_library, num_functions))
ONEOP_ABI_STRUCT(oneop_op_def, offsetof(oneop_op_def, doc))
ONEOP_ABI_STRUCT(oneop_arg_def, offsetof(oneop_arg_def, on_host))
ONEOP_ABI_STRUCT(oneop_attr_def, offsetof(oneop_attr_def, list_size))
ONEOP_ABI_STRUCT(oneop_kernel_def, sizeof(oneop_kernel_def))
ONEOP_ABI_STRUCT(oneop_fact, sizeof(oneop_fact))
ONEOP_ABI_STRUCT(oneop_grad_def, sizeof(oneop_grad_def))
ONEOP_ABI_STRUCT(oneop_function_def, offsetof(oneop_function_def, doc))
ONEOP_ABI_STRUCT(oneop_function_arg, sizeof(oneop_function_arg))
ONEOP_ABI_STRUCT(oneop_symbol, offsetof(oneop_symbol, record_function))
#undef ONEOP_ABI_STRUCT

[[noreturn]] inline void refuse_abi(const std::string& what) {
  throw Error("AbiError", what +
                              "\n  the library is damaged, or fills in the structs of oneop/abi.h "
                              "wrongly: rebuild it");
}

// A struct from a library may be older (shorter) or newer (longer) than ours: take what both know.
template <typename T>
T take(const T* theirs) {
  const std::string name = AbiStruct<T>::kName;
  if (theirs == nullptr) {
    refuse_abi("expected a " + name + ", found a null pointer");
  }
  if (theirs->size < AbiStruct<T>::kFirstSize || theirs->size > kMaxCount) {
    refuse_abi(name + ".size: expected at least " + std::to_string(AbiStruct<T>::kFirstSize) +
               ", found " + std::to_string(theirs->size));
  }
  T ours{};
  std::memcpy(&ours, theirs, std::min<size_t>(theirs->size, sizeof(T)));
  ours.size = sizeof(T);
  return ours;
}

// The number of items in a list, if it can be one. Calls ask too: `field` is a view, so that its
// text costs nothing while all is well.
inline int32_t checked_count(int64_t count, const void* items, std::string_view field,
                             int64_t limit = kMaxCount) {
  if (count < 0 || count > limit) {
    refuse_abi(std::string(field) + ": expected 0 to " + std::to_string(limit) + ", found " +
               std::to_string(count));
  }
  if (count > 0 && items == nullptr) {
    refuse_abi(std::string(field) + " is " + std::to_string(count) +
               ", and the list is a null pointer");
  }
  return static_cast<int32_t>(count);
}

inline std::string text(const char* string) { return string == nullptr ? "" : string; }

}  // namespace oneop
