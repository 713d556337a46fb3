// LazyMode: whether a graph is being built. torch builds its graphs around ops, so never here.
#ifndef ONEFLOW_CORE_JOB_LAZY_MODE_H_
#define ONEFLOW_CORE_JOB_LAZY_MODE_H_

#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

class LazyMode {
 public:
  static bool is_enabled() { return false; }
  class Guard {
   public:
    explicit Guard(bool) {}
  };
};
class GlobalMode {
 public:
  static bool is_enabled() { return false; }
  class Guard {
   public:
    template <class... A>
    explicit Guard(const A&...) {}
  };
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_JOB_LAZY_MODE_H_
