// kernel_sync.cpp: see kernel_sync.h.
#include "torch_host/compute/kernel_sync.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>

#include "engine/ops/error.h"

namespace oneop {
namespace {

std::atomic<bool> syncs_kernels{false};

}  // namespace

void wait_for_kernel(const std::string& op, const CallPlan& plan, c10::Device device) {
  const c10::impl::VirtualGuardImpl guard(device.type());
  try {
    guard.synchronizeStream(guard.getStream(device));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    throw Error("OpRuntimeError", "op " + in_quotes(op) + ": its kernel at " +
                                      plan.kernel().source.text() + " failed on " + device.str() +
                                      "\n  " + text.substr(0, text.find('\n')) +
                                      "\n  the device is of no more use to this process");
  }
}

void set_kernel_sync(bool is_on) { syncs_kernels = is_on; }
bool kernel_sync() { return syncs_kernels.load(std::memory_order_relaxed); }

}  // namespace oneop
