// RandomGenerator: the random numbers of a kernel of 2020, from a seed of its own.
#ifndef ONEFLOW_CORE_KERNEL_RANDOM_GENERATOR_H_
#define ONEFLOW_CORE_KERNEL_RANDOM_GENERATOR_H_

#include <random>

#include "oneflow/core/ep/include/stream.h"
#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

template <DeviceType device_type>
class RandomGenerator {
 public:
  static_assert(device_type == kCPU, "RandomGenerator is for the CPU");
  RandomGenerator(int64_t seed, DeviceCtx*) : engine_(static_cast<uint64_t>(seed)) {}
  template <class T>
  void Uniform(int64_t n, T* to) {
    Uniform(n, T(0), T(1), to);
  }
  template <class T>
  void Uniform(int64_t n, T low, T high, T* to) {
    std::uniform_real_distribution<T> distribution(low, high);
    for (int64_t i = 0; i < n; ++i) {
      to[i] = distribution(engine_);
    }
  }

 private:
  std::mt19937 engine_;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_KERNEL_RANDOM_GENERATOR_H_
