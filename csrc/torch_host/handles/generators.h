// generators.h: torch's random generators as op libraries see them.
#pragma once

#include <ATen/core/Generator.h>

#include <atomic>
#include <string>
#include <vector>

#include "oneop/abi.h"

namespace oneop {

// Whether what this thread calls now is recorded, to be run later and more than once.
bool is_traced();

// A further reference; null is the default generator of the cpu.
at::Generator generator_of(oneop_handle handle);

// oneop_host.generator
int32_t use_generator(oneop_handle handle, int32_t act, uint64_t* value, oneop_status* status);

// Numbers in place of a generator's, for the time of a replay. Where a functor asks for more than
// there are, as one does that draws until it likes a number, they follow from the last.
class Replay {
 public:
  explicit Replay(std::vector<uint64_t> draws);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  uint64_t next();
  static Replay* current();
  // Whether any thread replays: while none does, no call has to look for its own.
  static bool is_any() { return count_.load(std::memory_order_relaxed) != 0; }

 private:
  std::vector<uint64_t> draws_;
  size_t used_ = 0;
  Replay* outer_;
  static inline std::atomic<int32_t> count_{0};
};

// A replayed call must be the same each time: an op that draws by itself is refused. `what`
// describes it.
void refuse_random_in_replay(const std::string& what);

}  // namespace oneop
