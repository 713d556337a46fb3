// one::Generator, a random generator of the host. Functors draw from it what their ops need:
// numbers for an attribute, or torch's random ops.
#ifndef ONEFLOW_CORE_FRAMEWORK_RANDOM_GENERATOR_H_
#define ONEFLOW_CORE_FRAMEWORK_RANDOM_GENERATOR_H_

#include "oneop/sdk/recorder.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

class CPUGeneratorImpl;

class Generator {
 public:
  // One with a state of its own, for kernels: see random_generator_impl.h.
  struct Own {};
  explicit Generator(Own) : handle_(nullptr), is_own_(true) {}
  // Null: the default generator of the cpu.
  explicit Generator(oneop_handle handle) : handle_(handle) {
    if (handle_ != nullptr) {
      ::oneop::sdk::Retain(handle_);
    }
  }
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  ~Generator() {
    if (handle_ != nullptr) {
      ::oneop::sdk::Release(handle_);
    }
  }

  uint64_t current_seed() const { return is_own_ ? seed_ : Act(ONEOP_GENERATOR_SEED, 0); }
  void set_current_seed(uint64_t seed) {
    if (is_own_) {
      seed_ = seed;
      engine_.reset();
    } else {
      Act(ONEOP_GENERATOR_SET_SEED, seed);
    }
  }
  // An engine for <random>: it starts at the seed, or at a number drawn from the host's generator.
  template <class Impl>
  Maybe<Impl> Get(int64_t /*device_index*/ = 0) {
    if (engine_ == nullptr) {
      engine_ = std::make_shared<Impl>(is_own_ ? seed_ : random64());
    }
    return engine_;
  }
  // A new seed that nobody chose.
  uint64_t seed() { return Act(ONEOP_GENERATOR_NEW_SEED, 0); }
  // The next 64 random bits: the seed of one call of an op, say.
  uint64_t random64() { return Act(ONEOP_GENERATOR_RANDOM, 0); }

  oneop_handle oneop_handle_ptr() const { return handle_; }

 private:
  uint64_t Act(int32_t act, uint64_t value) const {
    // A gradient is recorded once and serves many calls: a number would be the same in all of them.
    if (::oneop::sdk::CurrentRecorder() != nullptr) {
      ::oneop::sdk::ThrowText(
          ONEOP_ERROR_RUNTIME,
          {"a gradient class uses a random generator: its calls are recorded once, so the number "
           "would stay the same\n  let the forward op give what was drawn as an output, or call "
           "one "
           "of torch's random ops (aten::bernoulli)"});
    }
    ::oneop::sdk::HostStatus status;
    status.Check(::oneop::sdk::Host()->generator(handle_, act, &value, &status.status));
    return value;
  }
  oneop_handle handle_;
  bool is_own_ = false;
  uint64_t seed_ = 0;
  std::shared_ptr<CPUGeneratorImpl> engine_;
};

inline Maybe<Generator> DefaultCPUGenerator() { return std::make_shared<Generator>(nullptr); }
inline Maybe<Generator> DefaultAutoGenerator() { return DefaultCPUGenerator(); }

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#if defined(ONEOP_PORT)
#include "oneflow/core/framework/random_generator_impl.h"
#endif

#endif  // ONEFLOW_CORE_FRAMEWORK_RANDOM_GENERATOR_H_
