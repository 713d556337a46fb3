// host_cache.h: output buffers on the CPU, used again instead of going back to the system.
#pragma once

#include <c10/core/Allocator.h>

namespace oneop {

// The system hands out buffers as fresh pages, and malloc gives them back to it whenever enough of
// them are free: at 40 MB the page faults of one call cost several times its arithmetic, and at 400
// KB those of a training step twice as much. Freed blocks wait here for the next output of their
// size, up to a limit. A cache of 64 MiB or more that has not been used for 5 to 10 seconds is
// emptied.
c10::Allocator* host_cache();

// Outputs from this size on come from the cache.
constexpr size_t kHostCacheMinimum = size_t{16} << 10;

// Blocks beyond the limit are freed at once; 0 switches the cache off and empties it.
void set_host_cache_limit(size_t bytes);
size_t host_cache_held();
// Gives all free blocks back to the system.
void empty_host_cache();

}  // namespace oneop
