// host.cpp: the one host of this process.
#include "engine/ops/host.h"

#include <atomic>

#include "engine/ops/error.h"

namespace oneop {
namespace {

std::atomic<const Host*> current{nullptr};
std::atomic<uint32_t> required_bits{0};

}  // namespace

uint32_t required() { return required_bits.load(std::memory_order_relaxed); }

void set_required(uint32_t bits) { required_bits.store(bits, std::memory_order_relaxed); }

uint32_t shown_to_kernels(uint32_t required) {
  const uint32_t asked = required & (ONEOP_REQUIRE_DETERMINISTIC | ONEOP_REQUIRE_BATCH_INVARIANT);
  return (required & kAvoidNondeterministic) != 0 ? asked | ONEOP_REQUIRE_DETERMINISTIC : asked;
}

void Host::warn(const std::string& text) const {
  services()->log(2, text.data(), static_cast<int64_t>(text.size()), nullptr, 0);
}

void set_host(const Host* host) { current.store(host, std::memory_order_release); }

const Host& host() {
  const Host* set = current.load(std::memory_order_acquire);
  if (set == nullptr) {
    throw Error("OneopError", "the engine has no host: call set_host first");
  }
  return *set;
}

}  // namespace oneop
