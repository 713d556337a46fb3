// threads.h: the threads of parallel_for in a program that has no pool of its own.
#pragma once

#include <cstdint>

namespace oneop {

// As oneop_host.parallel_for: pieces of at least `grain` elements, as many as there are threads. A
// loop inside a loop runs on the thread that it is called on.
void run_parallel(int64_t begin, int64_t end, int64_t grain,
                  void (*body)(void* context, int64_t b, int64_t e), void* context);

// The caller's thread counts. Throws ArgumentError unless the count is 1 to 1024.
void set_num_threads(int32_t count);
int32_t num_threads();

}  // namespace oneop
