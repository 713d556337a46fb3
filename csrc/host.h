// host.h: what the host keeps for a running kernel.
#pragma once

#include <cstdint>
#include <memory>

namespace oneop {

// Memory that a kernel asks for while it runs, freed when the pool goes, and that of its tensors.
class ScratchPool {
 public:
  virtual void* allocate(int64_t bytes) = 0;
  // Something that keeps a tensor's memory, for views that outlive the call; null where nothing
  // can.
  virtual std::shared_ptr<void> owner_of(const void*) const { return nullptr; }

 protected:
  ~ScratchPool() = default;
};

}  // namespace oneop
