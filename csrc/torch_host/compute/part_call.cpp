// part_call.cpp: the overload of an op for parts.
#include "torch_host/compute/part_call.h"

#include <ATen/Context.h>
#include <ATen/ops/randint.h>

#include <mutex>
#include <unordered_map>
#include <utility>

#include "engine/frames/part.h"
#include "engine/ops/error.h"
#include "torch_host/calls/calls.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/compute/call_device.h"
#include "torch_host/compute/run_plan.h"
#include "torch_host/interpreter/python_throw.h"
#include "torch_host/ops/torch_op.h"
#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

thread_local const Part* running_part = nullptr;

struct RunningPart {
  explicit RunningPart(const Part* part) : before(running_part) { running_part = part; }
  ~RunningPart() { running_part = before; }
  const Part* before;
};

// Splitmix's finishing steps: a number of 31 bits that differs for each pair.
uint64_t mixed(uint64_t seed, uint64_t shard) {
  uint64_t word = seed + (shard + 1) * 0x9E3779B97F4A7C15ull;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
  return (word ^ (word >> 31)) & 0x7fffffffull;
}

// Lets a kernel draw numbers of its own for each shard. All ranks are seeded alike, so the number
// that is drawn here is the same on all of them, and their generators stay alike.
class OwnNumbers {
 public:
  OwnNumbers(c10::Device device, int64_t shard)
      : generator_(at::globalContext().defaultGenerator(device)) {
    const at::Tensor drawn = at::randint(int64_t{1} << 62, {}, generator_,
                                         at::TensorOptions().dtype(at::kLong).device(device));
    const auto seed = static_cast<uint64_t>(drawn.item<int64_t>());
    std::lock_guard<std::mutex> lock(generator_.mutex());
    state_ = generator_.get_state();
    generator_.set_current_seed(mixed(seed, static_cast<uint64_t>(shard)));
  }
  ~OwnNumbers() {
    std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(state_);
  }
  OwnNumbers(const OwnNumbers&) = delete;
  OwnNumbers& operator=(const OwnNumbers&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

std::shared_ptr<const Part> pop_part(torch::jit::Stack* stack) {
  return std::make_shared<const Part>(torch::jit::pop(*stack).toIntVector(), [](int64_t number) {
    return to_abi(static_cast<c10::ScalarType>(number));
  });
}

void compute_part(const TorchOp& op, bool draws, torch::jit::Stack* stack) {
  std::shared_ptr<const Part> part = pop_part(stack);
  const RecordPtr record = op.record();
  const Layout& layout = *record->layout;
  check_stack(layout, *stack);
  const c10::IValue* args = stack->data() + stack->size() - layout.num_args;
  const CallTensors call(layout, args);
  const c10::Device device = device_of(layout, args, call);
  PlanKey key;
  append_call_key(layout, args, call, KeyMode::kFull, &key);
  key.push_back(-1);  // no other key has as many words and this one here
  key.insert(key.end(), part->words().begin(), part->words().end());
  key.push_back(static_cast<int64_t>(device.type()) << 8 | (device.index() + 1));
  std::shared_ptr<const CallPlan> plan = record->plans->find(key);
  if (plan == nullptr) {
    CallSpec spec = make_spec(layout, args, call, device);
    spec.required = static_cast<uint32_t>(key.front());  // as in find_plan
    plan = std::make_shared<const CallPlan>(record, spec, part);
    record->plans->insert(key, plan);
  }
  OutputTensors outputs;
  {
    const RunningPart running(part.get());
    std::optional<OwnNumbers> numbers;
    if (draws) {
      numbers.emplace(device, part->shard());
    }
    run_plan(layout, call, *plan, device, &outputs);
  }
  push_outputs(layout, outputs, stack);
}

void infer_part(const TorchOp& op, bool, torch::jit::Stack* stack) {
  const std::shared_ptr<const Part> part = pop_part(stack);
  OutputTensors outputs;
  for (const auto& [shape, dtype] : part->outputs()) {
    outputs.push_back(
        at::empty(shape, at::TensorOptions().dtype(to_torch(dtype)).device(c10::kMeta)));
  }
  push_outputs(*op.record()->layout, outputs, stack);
}

using PartAct = void (*)(const TorchOp&, bool, torch::jit::Stack*);

struct PartFunctor final : c10::OperatorKernel {
  PartFunctor(const TorchOp* torch_op, bool draws_numbers, PartAct act_fn)
      : op(torch_op), draws(draws_numbers), act(act_fn) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    try {
      act(*op, draws, stack);
    } catch (const Error& error) {
      throw_python_error(error);
    }
  }
  const TorchOp* op;
  bool draws;
  PartAct act;
};

struct PartOverload {
  int32_t schema_version = -1;
  bool draws = false;
  std::unique_ptr<torch::Library> library;
};

}  // namespace

bool define_part(const std::string& name, bool draws) {
  static std::mutex* mutex = new std::mutex;
  static auto* overloads = new std::unordered_map<const TorchOp*, PartOverload>;
  const TorchOp& op = TorchOp::find(name);
  std::lock_guard<std::mutex> lock(*mutex);
  PartOverload& overload = (*overloads)[&op];
  const RecordPtr record = op.record();
  if (overload.library != nullptr && overload.schema_version == record->layout->schema_version &&
      overload.draws == draws) {
    return false;
  }
  Layout layout;
  const c10::FunctionSchema own = make_schema(*record->op, &layout);
  std::vector<c10::Argument> arguments = own.arguments();
  arguments.emplace_back("part", c10::ListType::ofInts(), std::nullopt, std::nullopt,
                         /*kwarg_only=*/true);
  overload.library.reset();
  overload.library = std::make_unique<torch::Library>(torch::Library::FRAGMENT, "oneop",
                                                      std::nullopt, __FILE__, __LINE__);
  const uint32_t flags = record->op->flags & ~ONEOP_OP_RANDOM;
  const std::vector<at::Tag> tags = schema_tags(own, draws ? flags | ONEOP_OP_RANDOM : flags);
  overload.library->def(
      c10::FunctionSchema(own.name(), "part", std::move(arguments), own.returns()), tags);
  const std::string full = name + ".part";
  const auto add = [&](c10::DispatchKey key, PartAct act) {
    overload.library->impl(
        full.c_str(), torch::dispatch(key, torch::CppFunction::makeFromBoxedFunctor(
                                               std::make_unique<PartFunctor>(&op, draws, act))));
  };
  add(c10::DispatchKey::CPU, &compute_part);
  add(c10::DispatchKey::CUDA, &compute_part);
  add(c10::DispatchKey::Meta, &infer_part);
  overload.schema_version = record->layout->schema_version;
  overload.draws = draws;
  return true;
}

py::object current_part() {
  return running_part == nullptr ? py::object(py::none()) : py::cast(running_part->words());
}

}  // namespace oneop
