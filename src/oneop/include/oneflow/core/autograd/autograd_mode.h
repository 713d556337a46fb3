// Whether this thread records calls for autograd: torch's own switch, that of torch.no_grad().
#ifndef ONEFLOW_CORE_AUTOGRAD_AUTOGRAD_MODE_H_
#define ONEFLOW_CORE_AUTOGRAD_AUTOGRAD_MODE_H_

#include "oneop/sdk/tensor_state.h"

namespace oneflow ONEOP_HIDDEN {
namespace autograd {

class GradMode {
 public:
  static bool is_enabled() {
    return ::oneop::sdk::AskState(nullptr, ONEOP_STATE_GRAD_ENABLED) != 0;
  }
  static void set_enabled(bool enabled) {
    // A gradient class runs once, on symbols; what it says here would be lost in later calls.
    if (::oneop::sdk::CurrentRecorder() != nullptr) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_RUNTIME,
                              {"a gradient class switches autograd on or off: its calls are "
                               "recorded once, and run without it"});
    }
    ::oneop::sdk::AskState(nullptr, ONEOP_STATE_SET_GRAD_ENABLED, enabled ? 1 : 0);
  }
};

// For the time of a scope.
class AutoGradMode {
 public:
  explicit AutoGradMode(bool enabled) : before_(GradMode::is_enabled()) {
    GradMode::set_enabled(enabled);
  }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;
  ~AutoGradMode() {
    int64_t value = before_ ? 1 : 0;
    ::oneop::sdk::HostStatus status;  // a destructor does not throw
    ::oneop::sdk::Host()->state(nullptr, ONEOP_STATE_SET_GRAD_ENABLED, &value, &status.status);
  }

 private:
  bool before_;
};

class NoGradGuard : public AutoGradMode {
 public:
  NoGradGuard() : AutoGradMode(false) {}
};

}  // namespace autograd
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_AUTOGRAD_AUTOGRAD_MODE_H_
