// draw_log.h: what a replayed call of a functor asked random generators for.
#pragma once

#include <ATen/core/Generator.h>

namespace oneop {

struct DrawLog {
  int32_t count = 0;
  at::Generator generator;    // of the first draw
  bool from_several = false;  // and of others
};

// Of this thread's replay that is running, or ran last.
DrawLog& draw_log();

}  // namespace oneop
