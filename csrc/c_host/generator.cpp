// generator.cpp: see generator.h.
#include "c_host/generator.h"

#include <mutex>
#include <random>

#include "engine/ops/error.h"

namespace oneop {
namespace {

struct State {
  std::mutex mutex;
  uint64_t seed = 0;
  uint64_t next = 0;
};

State& state() {
  static auto* made = new State;  // threads may outlive main()
  return *made;
}

uint64_t splitmix(uint64_t* counter) {
  uint64_t bits = *counter += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

}  // namespace

void set_seed(uint64_t seed) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  state().seed = state().next = seed;
}

int32_t use_plain_generator(oneop_handle generator, int32_t act, uint64_t* value,
                            oneop_status* status) {
  if (generator != nullptr) {
    return Status::fail(status, ONEOP_ERROR_NOT_IMPLEMENTED,
                        "this host has one random generator, and no handles of others");
  }
  State& shared = state();
  const std::lock_guard<std::mutex> lock(shared.mutex);
  switch (act) {
    case ONEOP_GENERATOR_SEED:
      *value = shared.seed;
      return ONEOP_OK;
    case ONEOP_GENERATOR_NEW_SEED:
      *value = static_cast<uint64_t>(std::random_device()()) << 32 | std::random_device()();
      [[fallthrough]];
    case ONEOP_GENERATOR_SET_SEED:
      shared.seed = shared.next = *value;
      return ONEOP_OK;
    case ONEOP_GENERATOR_RANDOM:
      *value = splitmix(&shared.next);
      return ONEOP_OK;
    default:
      return Status::fail(status, ONEOP_ERROR_NOT_IMPLEMENTED,
                          "this host does not know what to do with its generator");
  }
}

}  // namespace oneop
