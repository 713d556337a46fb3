// host.cpp: the one host of this process.
#include "engine/ops/host.h"

#include <atomic>

#include "engine/ops/error.h"

namespace oneop {
namespace {

std::atomic<const Host*> current{nullptr};

}  // namespace

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
