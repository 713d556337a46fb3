// handler.cpp: one XLA FFI handler for all ops. It knows the headers of jaxlib and oneop/runtime.h;
// the runtime is that of the process, whose table is set when this library is loaded.
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "oneop/runtime.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace oneop {
namespace {

const oneop_runtime* runtime = nullptr;

using Plan = std::shared_ptr<const oneop_plan>;
using Words = ffi::Span<const int64_t>;

// Where a call runs.
struct Place {
  int32_t device_type = ONEOP_DEVICE_CPU;
  int32_t device_index = -1;
  void* stream = nullptr;
  ffi::ScratchAllocator* scratch = nullptr;  // null: the runtime finds memory itself
};

// XLA's memory for the call that this thread runs on a device. It is given back in the order of the
// stream, when the call ends.
thread_local ffi::ScratchAllocator* current_scratch = nullptr;

void* allocate_scratch(int32_t, int64_t bytes, void*) {
  return current_scratch == nullptr ? nullptr : current_scratch->Allocate(bytes).value_or(nullptr);
}

int32_t code_of(ffi::DataType dtype) {
  switch (dtype) {
    case ffi::DataType::PRED:
      return ONEOP_DTYPE_BOOL;
    case ffi::DataType::S8:
      return ONEOP_DTYPE_INT8;
    case ffi::DataType::S16:
      return ONEOP_DTYPE_INT16;
    case ffi::DataType::S32:
      return ONEOP_DTYPE_INT32;
    case ffi::DataType::S64:
      return ONEOP_DTYPE_INT64;
    case ffi::DataType::U8:
      return ONEOP_DTYPE_UINT8;
    case ffi::DataType::U16:
      return ONEOP_DTYPE_UINT16;
    case ffi::DataType::U32:
      return ONEOP_DTYPE_UINT32;
    case ffi::DataType::U64:
      return ONEOP_DTYPE_UINT64;
    case ffi::DataType::F16:
      return ONEOP_DTYPE_FLOAT16;
    case ffi::DataType::BF16:
      return ONEOP_DTYPE_BFLOAT16;
    case ffi::DataType::F32:
      return ONEOP_DTYPE_FLOAT32;
    case ffi::DataType::F64:
      return ONEOP_DTYPE_FLOAT64;
    case ffi::DataType::C64:
      return ONEOP_DTYPE_COMPLEX64;
    case ffi::DataType::C128:
      return ONEOP_DTYPE_COMPLEX128;
    case ffi::DataType::F8E4M3FN:
      return ONEOP_DTYPE_FLOAT8_E4M3FN;
    case ffi::DataType::F8E5M2:
      return ONEOP_DTYPE_FLOAT8_E5M2;
    case ffi::DataType::F8E4M3FNUZ:
      return ONEOP_DTYPE_FLOAT8_E4M3FNUZ;
    case ffi::DataType::F8E5M2FNUZ:
      return ONEOP_DTYPE_FLOAT8_E5M2FNUZ;
    default:
      return ONEOP_DTYPE_INVALID;
  }
}

// What a plan depends on: where it runs, the words of the call, the inputs, and the state of the
// registry. The
// words are [inputs, their counts, outputs, their counts, attributes].
void append_key(const Place& place, Words words, const ffi::RemainingArgs& args,
                std::vector<int64_t>* key) {
  key->push_back(static_cast<int64_t>(place.device_type) << 32 | (place.device_index + 1));
  key->push_back(static_cast<int64_t>(runtime->epoch()));
  key->insert(key->end(), words.begin(), words.end());
  for (size_t i = 0; i < args.size(); ++i) {
    const auto buffer = args.get<ffi::AnyBuffer>(i);
    const auto dims = buffer->dimensions();
    key->push_back(static_cast<int64_t>(buffer->element_type()) | static_cast<int64_t>(dims.size())
                                                                      << 16);
    key->insert(key->end(), dims.begin(), dims.end());
  }
}

Plan make_plan(const std::string& op, const Place& place, Words words,
               const ffi::RemainingArgs& args) {
  const int64_t* next = words.begin();
  const auto counts = [&] {
    const int64_t* begin = next + 1;
    next = begin + *next;
    return std::vector<int32_t>(begin, next);
  };
  const std::vector<int32_t> input_counts = counts();
  const std::vector<int32_t> output_counts = counts();
  std::vector<oneop_tensor> tensors(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const auto buffer = args.get<ffi::AnyBuffer>(i);
    const auto dims = buffer->dimensions();
    tensors[i].shape = const_cast<int64_t*>(dims.begin());
    tensors[i].ndim = static_cast<int32_t>(dims.size());
    tensors[i].dtype = code_of(buffer->element_type());
    tensors[i].device_type = place.device_type;
    tensors[i].device_index = place.device_index;
  }
  oneop_request request{};
  request.size = sizeof request;
  request.num_inputs = static_cast<int32_t>(tensors.size());
  request.inputs = tensors.data();
  request.input_counts = input_counts.data();
  request.output_counts = output_counts.data();
  request.device_type = place.device_type;
  request.device_index = place.device_index;
  oneop_plan* plan =
      runtime->prepare_words(runtime->find_op(op.c_str()), &request, next, words.end() - next);
  return Plan(plan,
              [](const oneop_plan* made) { runtime->release_plan(const_cast<oneop_plan*>(made)); });
}

struct KeyHash {
  size_t operator()(const std::pair<std::string, std::vector<int64_t>>& key) const {
    size_t hash = std::hash<std::string>()(key.first);
    for (int64_t word : key.second) {
      hash = (hash ^ static_cast<size_t>(word)) * 0x9e3779b97f4a7c15u;
    }
    return hash;
  }
};

// Plans of all threads. XLA runs a program on any of its threads.
Plan shared_plan(const std::string& op, const std::vector<int64_t>& key, const Place& place,
                 Words words, const ffi::RemainingArgs& args) {
  static auto* mutex = new std::mutex;
  static auto* plans =
      new std::unordered_map<std::pair<std::string, std::vector<int64_t>>, Plan, KeyHash>;
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    const auto known = plans->find({op, key});
    if (known != plans->end()) {
      return known->second;
    }
  }
  Plan plan = make_plan(op, place, words, args);  // runs authors' code, so without the lock
  if (plan != nullptr) {
    const std::lock_guard<std::mutex> lock(*mutex);
    if (plans->size() >= 4096) {  // shapes that never repeat must not fill the memory
      plans->clear();
    }
    (*plans)[{op, key}] = plan;
  }
  return plan;
}

// The last calls of this thread, found again without a lock. The plan lives until the thread's next
// call.
const oneop_plan* find_plan(std::string_view op, const Place& place, Words words,
                            const ffi::RemainingArgs& args) {
  struct Last {
    std::string op;
    std::vector<int64_t> key;
    Plan plan;
  };
  constexpr size_t kLasts = 8;
  struct Memory {
    Last lasts[kLasts];
    size_t turn = 0;
    std::vector<int64_t> key;
  };
  static thread_local Memory memory;
  memory.key.clear();
  append_key(place, words, args, &memory.key);
  for (const Last& last : memory.lasts) {
    if (last.key == memory.key && last.op == op) {
      return last.plan.get();
    }
  }
  const std::string name(op);
  const std::vector<int64_t> key = memory.key;  // authors' code may run, and call this again
  Plan plan = shared_plan(name, key, place, words, args);
  if (plan == nullptr) {
    return nullptr;
  }
  Last& next = memory.lasts[memory.turn++ % kLasts];
  next = {name, key, std::move(plan)};
  return next.plan.get();
}

ffi::Error run(const Place& place, const ffi::RemainingArgs& args, ffi::RemainingRets rets,
               std::string_view op, Words words) {
  const oneop_plan* plan = find_plan(op, place, words, args);
  if (plan == nullptr) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, runtime->last_error());
  }
  constexpr size_t kInline = 16;
  void* inline_data[kInline];
  std::vector<void*> more;
  void** data = inline_data;
  if (args.size() + rets.size() > kInline) {
    more.resize(args.size() + rets.size());
    data = more.data();
  }
  for (size_t i = 0; i < args.size(); ++i) {
    data[i] = args.get<ffi::AnyBuffer>(i)->untyped_data();
  }
  for (size_t i = 0; i < rets.size(); ++i) {
    data[args.size() + i] = (*rets.get<ffi::AnyBuffer>(i))->untyped_data();
  }
  current_scratch = place.scratch;
  const int32_t code = runtime->run(plan, data, nullptr, place.stream);
  current_scratch = nullptr;
  if (code != ONEOP_OK) {
    return ffi::Error(ffi::ErrorCode::kInternal, runtime->last_error());
  }
  return ffi::Error::Success();
}

ffi::Error call(ffi::RemainingArgs args, ffi::RemainingRets rets, std::string_view op,
                Words words) {
  return run(Place(), args, rets, op, words);
}

ffi::Error call_on_cuda(void* stream, int32_t device, ffi::ScratchAllocator scratch,
                        ffi::RemainingArgs args, ffi::RemainingRets rets, std::string_view op,
                        Words words) {
  return run({ONEOP_DEVICE_CUDA, device, stream, &scratch}, args, rets, op, words);
}

}  // namespace
}  // namespace oneop

extern "C" __attribute__((visibility("default"))) void oneop_set_runtime(
    const oneop_runtime* runtime) {
  oneop::runtime = runtime;
  runtime->set_device_memory(&oneop::allocate_scratch, [](int32_t, void*, void*) {});
}

#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(oneop_xla_call, oneop::call,
                              ffi::Ffi::Bind()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("op")
                                  .Attr<ffi::Span<const int64_t>>("words"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(oneop_xla_call_on_cuda, oneop::call_on_cuda,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::string_view>("op")
                                  .Attr<ffi::Span<const int64_t>>("words"));
#pragma GCC visibility pop
