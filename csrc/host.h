// host.h: what the host keeps for a running kernel.
#pragma once

#include <cstdint>

namespace oneop {

// Memory that a kernel asks for while it runs; freed when the pool goes.
class ScratchPool {
 public:
  virtual void* allocate(int64_t bytes) = 0;

 protected:
  ~ScratchPool() = default;
};

}  // namespace oneop
