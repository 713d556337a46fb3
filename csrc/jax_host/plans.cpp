// plans.cpp: a plan is kept for each combination of what it depends on, for all threads and,
// without a lock, for the last calls of each thread.
#include "jax_host/plans.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ffi = xla::ffi;

namespace oneop {
namespace {

using Plan = std::shared_ptr<const oneop_plan>;

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

// What a plan depends on: where it runs, the state of the registry, the words of the call, the
// inputs, and the outputs that the program has memory for.
struct Key {
  int64_t place = 0;
  uint64_t epoch = 0;
  std::vector<int64_t> words;
  std::vector<int64_t> buffers;  // inputs, outputs: the dtype and rank of each, then its shape

  bool operator==(const Key& other) const {
    return place == other.place && epoch == other.epoch && words == other.words &&
           buffers == other.buffers;
  }
};

int64_t word_of(const Place& place) {
  return static_cast<int64_t>(place.device_type) << 32 | (place.device_index + 1);
}

int64_t head_of(const ffi::AnyBuffer& buffer) {
  return static_cast<int64_t>(buffer.element_type()) |
         static_cast<int64_t>(buffer.dimensions().size()) << 16;
}

// Calls a function with each buffer of a call until it returns false.
template <typename Visit>
bool each_buffer(const ffi::RemainingArgs& args, const ffi::RemainingRets& rets,
                 const Visit& visit) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (!visit(*args.get<ffi::AnyBuffer>(i))) {
      return false;
    }
  }
  for (size_t i = 0; i < rets.size(); ++i) {
    auto result = *rets.get<ffi::AnyBuffer>(i);
    if (!visit(*result)) {
      return false;
    }
  }
  return true;
}

Key key_of(const Place& place, uint64_t epoch, Words words, const ffi::RemainingArgs& args,
           const ffi::RemainingRets& rets) {
  Key key{word_of(place), epoch, {words.begin(), words.end()}, {}};
  each_buffer(args, rets, [&](const ffi::AnyBuffer& buffer) {
    const auto dims = buffer.dimensions();
    key.buffers.push_back(head_of(buffer));
    key.buffers.insert(key.buffers.end(), dims.begin(), dims.end());
    return true;
  });
  return key;
}

// Whether key_of would give this key.
bool is_key(const Key& key, const Place& place, uint64_t epoch, Words words,
            const ffi::RemainingArgs& args, const ffi::RemainingRets& rets) {
  if (key.epoch != epoch || key.place != word_of(place) ||
      !std::equal(key.words.begin(), key.words.end(), words.begin(), words.end())) {
    return false;
  }
  const int64_t* next = key.buffers.data();  // the words fix how many there are
  return each_buffer(args, rets, [&](const ffi::AnyBuffer& buffer) {
    if (*next++ != head_of(buffer)) {
      return false;
    }
    for (int64_t size : buffer.dimensions()) {
      if (*next++ != size) {
        return false;
      }
    }
    return true;
  });
}

// Whether the outputs are those that the program was compiled for. They are not if the op's library
// was loaded again, and the kernel would write to memory that is too small.
bool has_outputs(const oneop_plan* plan, const ffi::RemainingRets& rets) {
  if (runtime->num_outputs(plan) != static_cast<int32_t>(rets.size())) {
    return false;
  }
  for (size_t i = 0; i < rets.size(); ++i) {
    auto buffer = *rets.get<ffi::AnyBuffer>(i);
    const oneop_tensor& made = *runtime->output(plan, static_cast<int32_t>(i));
    const auto dims = buffer->dimensions();
    if (made.dtype != code_of(buffer->element_type()) ||
        !std::equal(dims.begin(), dims.end(), made.shape, made.shape + made.ndim)) {
      return false;
    }
  }
  return true;
}

Plan make_plan(const Place& place, Words words, const ffi::RemainingArgs& args) {
  const int64_t* next = words.begin();
  const std::string op(reinterpret_cast<const char*>(next + 1), static_cast<size_t>(*next));
  next += 1 + (*next + 7) / 8;
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
  request.num_input_counts = static_cast<int32_t>(input_counts.size());
  request.num_output_counts = static_cast<int32_t>(output_counts.size());
  oneop_plan* plan =
      runtime->prepare_words(runtime->find_op(op.c_str()), &request, next, words.end() - next);
  return Plan(plan,
              [](const oneop_plan* made) { runtime->release_plan(const_cast<oneop_plan*>(made)); });
}

struct KeyHash {
  size_t operator()(const Key& key) const {
    size_t hash = static_cast<size_t>(key.place) ^ static_cast<size_t>(key.epoch);
    for (const auto* words : {&key.words, &key.buffers}) {
      for (int64_t word : *words) {
        hash = (hash ^ static_cast<size_t>(word)) * 0x9e3779b97f4a7c15u;
      }
    }
    return hash;
  }
};

// Plans of all threads. XLA runs a program on any of its threads.
Plan shared_plan(const Key& key, const Place& place, Words words, const ffi::RemainingArgs& args,
                 const ffi::RemainingRets& rets, std::string* problem) {
  static auto* mutex = new std::mutex;
  static auto* plans = new std::unordered_map<Key, Plan, KeyHash>;
  {
    const std::lock_guard<std::mutex> lock(*mutex);
    const auto known = plans->find(key);
    if (known != plans->end()) {
      return known->second;
    }
  }
  Plan plan = make_plan(place, words, args);  // runs authors' code, so without the lock
  if (plan == nullptr) {
    *problem = runtime->last_error();
  } else if (!has_outputs(plan.get(), rets)) {
    const char* name = reinterpret_cast<const char*>(words.begin() + 1);
    *problem = "op \"" + std::string(name, static_cast<size_t>(*words.begin())) +
               "\": its library was loaded again, and its outputs are not those that this program "
               "was compiled for\n  call jax.clear_caches(), then the program is traced again";
    plan = nullptr;
  } else {
    const std::lock_guard<std::mutex> lock(*mutex);
    if (plans->size() >= 4096) {  // shapes that never repeat must not fill the memory
      plans->clear();
    }
    (*plans)[key] = plan;
  }
  return plan;
}

}  // namespace

// The last calls of this thread, found again without a lock: a program makes its calls in the same
// order each time, so the search begins at the last one found. The plan lives until the thread's
// next call.
const oneop_plan* find_plan(const Place& place, Words words, const ffi::RemainingArgs& args,
                            const ffi::RemainingRets& rets, std::string* problem) {
  struct Last {
    Key key;
    Plan plan;
  };
  constexpr size_t kLasts = 16;
  struct Memory {
    Last lasts[kLasts];
    size_t turn = 0;
    size_t found = 0;
  };
  static thread_local Memory memory;
  const uint64_t epoch = runtime->epoch();
  for (size_t i = 0; i < kLasts; ++i) {
    const size_t place_of = (memory.found + i) % kLasts;
    const Last& last = memory.lasts[place_of];
    if (last.plan != nullptr && is_key(last.key, place, epoch, words, args, rets)) {
      memory.found = place_of;
      return last.plan.get();
    }
  }
  Key key = key_of(place, epoch, words, args, rets);
  Plan plan = shared_plan(key, place, words, args, rets, problem);
  if (plan == nullptr) {
    return nullptr;
  }
  memory.found = memory.turn++ % kLasts;
  Last& next = memory.lasts[memory.found];
  next = {std::move(key), std::move(plan)};
  return next.plan.get();
}

}  // namespace oneop
