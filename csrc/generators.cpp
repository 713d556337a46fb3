// generators.cpp: seeds, and random bits.
#include "generators.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "error.h"
#include "tensor_handles.h"

namespace oneop {
namespace {

uint64_t random_bits(at::Generator& generator) {
  if (generator.device().is_cpu()) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    return generator.get<at::CPUGeneratorImpl>()->random64();
  }
  const auto options = at::TensorOptions().dtype(at::kLong).device(generator.device());
  const int64_t bits = at::empty({1}, options).random_(generator).item<int64_t>();
  return static_cast<uint64_t>(bits);
}

}  // namespace

at::Generator generator_of(oneop_handle handle) {
  if (handle == nullptr) {
    return at::detail::getDefaultCPUGenerator();
  }
  return at::Generator(c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(
      static_cast<c10::GeneratorImpl*>(handle)));
}

int32_t use_generator(oneop_handle handle, int32_t act, uint64_t* value, oneop_status* status) {
  return guard_service(status, [&] {
    at::Generator generator = generator_of(handle);
    if (act == ONEOP_GENERATOR_RANDOM) {
      *value = random_bits(generator);
      return;
    }
    const std::lock_guard<std::mutex> lock(generator.mutex());
    switch (act) {
      case ONEOP_GENERATOR_SEED:
        *value = generator.current_seed();
        return;
      case ONEOP_GENERATOR_SET_SEED:
        generator.set_current_seed(*value);
        return;
      case ONEOP_GENERATOR_NEW_SEED:
        *value = generator.seed();
        return;
      default:
        throw Error("OpNotImplementedError", "this oneop cannot do that with a random generator");
    }
  });
}

}  // namespace oneop
