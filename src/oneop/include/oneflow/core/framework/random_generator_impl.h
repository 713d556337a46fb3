// Random engines of kernels: one::CPUGeneratorImpl, which newer sources call ep::CPUGenerator.
#ifndef ONEFLOW_CORE_FRAMEWORK_RANDOM_GENERATOR_IMPL_H_
#define ONEFLOW_CORE_FRAMEWORK_RANDOM_GENERATOR_IMPL_H_

#include <random>

#include "oneflow/core/framework/random_generator.h"
#include "oneop/sdk/random_seed.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

class CPUGeneratorImpl {
 public:
  explicit CPUGeneratorImpl(uint64_t seed) : engine_(static_cast<uint32_t>(seed)), seed_(seed) {}
  std::mt19937& engine() { return engine_; }
  uint64_t current_seed() const { return seed_; }
  void set_current_seed(uint64_t seed) { *this = CPUGeneratorImpl(seed); }

 private:
  std::mt19937 engine_;
  uint64_t seed_;
};

// A generator for the state of a kernel. Its seed is the author's, or one that nobody chose.
inline Maybe<Generator> MakeAutoGenerator() {
  auto generator = std::make_shared<Generator>(Generator::Own{});
  generator->set_current_seed(std::random_device()());
  return generator;
}
template <class DeviceKind>
Maybe<Generator> MakeGenerator(const DeviceKind&, int64_t /*device_index*/ = 0) {
  return MakeAutoGenerator();
}
inline Maybe<Generator> MakeCPUGenerator() { return MakeAutoGenerator(); }

}  // namespace one

namespace ep {
using CPUGenerator = one::CPUGeneratorImpl;
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_RANDOM_GENERATOR_IMPL_H_
