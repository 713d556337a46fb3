// small_cache.h: memory for small CPU outputs, which repeated calls get back at once.
#pragma once

#include <c10/core/Allocator.h>

namespace oneop {

// The largest block. glibc's aligned allocation, which torch's CPU allocator uses, never reuses
// what was just freed and costs about as much as the rest of a small call's allocations.
constexpr size_t kSmallCacheMaximum = 4096;

// For 1 to kSmallCacheMaximum bytes.
c10::Allocator* small_cache();

}  // namespace oneop
