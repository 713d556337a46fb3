// generators.cpp: seeds, and random bits.
#include "torch_host/handles/generators.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TracerMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/utils/pybind.h>

#include <limits>

#include "engine/ops/error.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/handles/draw_log.h"
#include "torch_host/handles/tensor_handles.h"

namespace oneop {
namespace {

thread_local Replay* current_replay = nullptr;

uint64_t random_bits(at::Generator& generator) {
  if (generator.device().is_cpu()) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    return generator.get<at::CPUGeneratorImpl>()->random64();
  }
  const auto options = at::TensorOptions().dtype(at::kLong).device(generator.device());
  const int64_t bits = at::empty({1}, options)
                           .random_(std::numeric_limits<int64_t>::min(), std::nullopt, generator)
                           .item<int64_t>();
  return static_cast<uint64_t>(bits);
}

bool has_mode(c10::impl::TorchDispatchModeKey key) {
  return c10::impl::TorchDispatchModeTLS::get_mode(key).has_value();
}

}  // namespace

bool is_traced() {
  return has_mode(c10::impl::TorchDispatchModeKey::PROXY) ||
         has_mode(c10::impl::TorchDispatchModeKey::FAKE) ||
         c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::PreDispatch) ||
         at::tracer::impl::is_dispatch_enabled();
}

namespace {

// Whether one call stands for many: vmap has its own rules for randomness. torch's header for
// transforms needs a library that it does not ship, so Python is asked.
bool is_batched() {
  if (!c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode)) {
    return false;
  }
  pybind11::gil_scoped_acquire gil;
  const pybind11::module_ functorch = pybind11::module_::import("torch._C._functorch");
  const pybind11::object vmap = functorch.attr("TransformType").attr("Vmap");
  const pybind11::object stack = functorch.attr("get_interpreter_stack")();
  if (stack.is_none()) {
    return false;
  }
  for (const pybind11::handle layer : stack) {
    if (layer.attr("key")().equal(vmap)) {
      return true;
    }
  }
  return false;
}

// The finalizer of splitmix64: neighbours in, unrelated numbers out.
uint64_t scramble(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15u;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// Ends the run of a functor whose call is traced (torch.compile, export, make_fx, a job) or batched
// (vmap): a number that C++ code has seen cannot become part of a graph. The function is called
// again as an op of (numbers, arguments), which replays it: see oneop/runtime/random_calls.py.
[[noreturn]] void stop_traced_draw() {
  thread_cache().stopped_for_draw = true;
  throw Error("OpNotImplementedError",
              "random numbers are drawn while tensors are traced or batched, outside a function of "
              "oneop._C\n  call a function that draws them");
}

uint64_t draw(at::Generator& generator) {
  if (current_replay != nullptr) {
    DrawLog& log = draw_log();
    if (log.count++ == 0) {
      log.generator = generator;
    }
    log.from_several |= log.generator != generator;
    return current_replay->next();
  }
  if (is_traced() || is_batched()) {
    stop_traced_draw();
  }
  return random_bits(generator);
}

void refuse_seed_while_traced() {
  if (current_replay != nullptr || is_traced() || is_batched()) {
    throw Error("OpNotImplementedError",
                "a functor asks for or sets the seed of a random generator while it is traced or "
                "batched: the seed of now would stay forever\n  draw numbers with random64()");
  }
}

}  // namespace

DrawLog& draw_log() {
  static thread_local DrawLog log;
  return log;
}

Replay::Replay(std::vector<uint64_t> draws)
    : draws_(std::move(draws)), outer_(std::exchange(current_replay, this)) {
  count_.fetch_add(1, std::memory_order_relaxed);
}
Replay::~Replay() {
  count_.fetch_sub(1, std::memory_order_relaxed);
  current_replay = outer_;
}
Replay* Replay::current() { return current_replay; }

uint64_t Replay::next() {
  const size_t i = used_++;
  if (i < draws_.size()) {
    return draws_[i];
  }
  return scramble((draws_.empty() ? 0 : draws_.back()) ^ scramble(i));
}

void refuse_random_in_replay(const std::string& what) {
  if (current_replay != nullptr) {
    throw Error("OpNotImplementedError",
                "a functor draws with random64() and calls the random " + what +
                    ": traced or batched, its draws could not be repeated\n  use one of the two");
  }
}

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
      *value = draw(generator);
      return;
    }
    refuse_seed_while_traced();
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
