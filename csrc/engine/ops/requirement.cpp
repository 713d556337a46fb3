// requirement.cpp: the requirement of the process, compared with what kernels declare.
#include "engine/ops/requirement.h"

#include <atomic>

namespace oneop {
namespace {

std::atomic<uint32_t> required_bits{0};

}  // namespace

uint32_t required() { return required_bits.load(std::memory_order_relaxed); }

void set_required(uint32_t bits) { required_bits.store(bits, std::memory_order_relaxed); }

uint32_t shown_to_kernels(uint32_t required) {
  const uint32_t asked = required & (ONEOP_REQUIRE_DETERMINISTIC | ONEOP_REQUIRE_BATCH_INVARIANT);
  return (required & kAvoidNondeterministic) != 0 ? asked | ONEOP_REQUIRE_DETERMINISTIC : asked;
}

std::string requirement_missed(const KernelDef& kernel, uint32_t required) {
  if ((required & ONEOP_REQUIRE_DETERMINISTIC) != 0 &&
      (kernel.flags & ONEOP_KERNEL_DETERMINISTIC) == 0) {
    return "is not declared deterministic";
  }
  if ((required & ONEOP_REQUIRE_BATCH_INVARIANT) != 0 &&
      (kernel.flags & ONEOP_KERNEL_BATCH_INVARIANT) == 0) {
    return "is not declared batch invariant";
  }
  if ((required & kAvoidNondeterministic) != 0 &&
      (kernel.flags & ONEOP_KERNEL_NONDETERMINISTIC) != 0) {
    return "is declared nondeterministic";
  }
  return "";
}

}  // namespace oneop
