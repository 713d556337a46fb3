// node_kernel.cpp: a node's plans are kept for the last shapes; outputs are ONNX Runtime's memory.
#include "onnx_host/node_kernel.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace oneop {
namespace {

using ort::api;
using ort::check;
using ort::Failure;
using ort::runtime;
using ort::Spec;

constexpr size_t kMaxKnown = 8;

// Bytes of an element of the dtypes that ONNX and oneop share.
int64_t bytes_of(int32_t dtype) {
  switch (dtype) {
    case ONEOP_DTYPE_COMPLEX128:
      return 16;
    case ONEOP_DTYPE_FLOAT64:
    case ONEOP_DTYPE_INT64:
    case ONEOP_DTYPE_UINT64:
    case ONEOP_DTYPE_COMPLEX64:
      return 8;
    case ONEOP_DTYPE_FLOAT32:
    case ONEOP_DTYPE_INT32:
    case ONEOP_DTYPE_UINT32:
      return 4;
    case ONEOP_DTYPE_FLOAT16:
    case ONEOP_DTYPE_BFLOAT16:
    case ONEOP_DTYPE_INT16:
    case ONEOP_DTYPE_UINT16:
      return 2;
    default:
      return 1;
  }
}

int64_t bytes_of(const oneop_tensor& tensor, const int64_t* sizes) {
  int64_t bytes = bytes_of(tensor.dtype);
  for (int32_t d = 0; d < tensor.ndim; ++d) {
    bytes *= sizes[d];
  }
  return bytes;
}

// Dtype and shape of a value.
Spec spec_of_value(const ort::Value* value) {
  ort::TensorInfo* made = nullptr;
  check(api().tensor_info(value, &made));
  const std::unique_ptr<ort::TensorInfo, void (*)(ort::TensorInfo*)> info(made, api().release_info);
  return ort::spec_of(info.get());
}

using Count = ort::Status* (*)(const ort::KernelInfo*, size_t*);
using Type = ort::Status* (*)(const ort::KernelInfo*, size_t, ort::TypeInfo**);

// What the graph says of a node's inputs or outputs.
std::vector<Spec> said(const ort::KernelInfo* info, Count count_of, Type type_of) {
  size_t count = 0;
  check(count_of(info, &count));
  std::vector<Spec> specs(count);
  for (size_t i = 0; i < count; ++i) {
    ort::TypeInfo* made = nullptr;
    if (!ort::take_message(type_of(info, i, &made)).empty()) {
      continue;  // an output that the node leaves out
    }
    const std::unique_ptr<ort::TypeInfo, void (*)(ort::TypeInfo*)> type(made, api().release_type);
    const ort::TensorInfo* tensor = nullptr;
    check(api().tensor_of_type(type.get(), &tensor));
    if (tensor != nullptr) {
      specs[i] = ort::spec_of(tensor);
    }
  }
  return specs;
}

std::string text_of(const int64_t* sizes, size_t count) {
  std::string text = "[";
  for (size_t d = 0; d < count; ++d) {
    text += (d == 0 ? "" : ", ") + (sizes[d] < 0 ? "?" : std::to_string(sizes[d]));
  }
  return text + "]";
}

}  // namespace

NodeKernel::NodeKernel(const oneop_op* op, const ort::KernelInfo* info)
    : call_(op, *reader_of(info)),
      said_of_inputs_(said(info, api().node_input_count, api().node_input_type)),
      said_of_outputs_(said(info, api().node_output_count, api().node_output_type)) {}

void NodeKernel::check_said_of_inputs(const std::vector<Spec>& specs) const {
  for (size_t i = 0; i < std::min(specs.size(), said_of_inputs_.size()); ++i) {
    const std::vector<int64_t>& sizes = said_of_inputs_[i].sizes;
    if (sizes.size() != specs[i].sizes.size()) {
      throw Failure("op \"" + std::string(call_.def().name) + "\", tensor " + std::to_string(i) +
                    ": it has the shape " + text_of(specs[i].sizes.data(), specs[i].sizes.size()) +
                    ", and the model says " +
                    (sizes.empty() ? "none" : text_of(sizes.data(), sizes.size())) +
                    "\n  say how many axes it has, with sizes or names, in the model's value_info");
    }
  }
}

void NodeKernel::check_said_of_outputs(const oneop_plan& plan) const {
  for (size_t i = 0; i < said_of_outputs_.size(); ++i) {
    const std::vector<int64_t>& sizes = said_of_outputs_[i].sizes;
    const oneop_tensor& found = *runtime().output(&plan, static_cast<int32_t>(i));
    bool is_same = sizes.size() == static_cast<size_t>(found.ndim);
    for (size_t d = 0; is_same && found.is_dynamic == 0 && d < sizes.size(); ++d) {
      is_same = sizes[d] < 0 || sizes[d] == found.shape[d];
    }
    if (!is_same && !sizes.empty()) {
      throw Failure("op \"" + std::string(call_.def().name) + "\", output " + std::to_string(i) +
                    ": the op gives the shape " + text_of(found.shape, found.ndim) +
                    ", and the session was made for " + text_of(sizes.data(), sizes.size()) +
                    "\n  correct what the model says of it, or make the session again if the op's "
                    "library has changed");
    }
  }
}

void NodeKernel::compute(ort::KernelContext* context) {
  size_t num_inputs = 0;
  size_t num_outputs = 0;
  check(api().num_inputs(context, &num_inputs));
  check(api().num_outputs(context, &num_outputs));
  std::vector<Spec> specs;
  std::vector<void*> data(num_inputs);
  for (size_t i = 0; i < num_inputs; ++i) {
    const ort::Value* value = nullptr;
    check(api().input(context, i, &value));
    specs.push_back(spec_of_value(value));
    if (specs.back().dtype == ONEOP_DTYPE_INVALID) {
      throw Failure("op \"" + std::string(call_.def().name) + "\", tensor " + std::to_string(i) +
                    ": op libraries have no such dtype as the model gives it");
    }
    check(api().tensor_data(const_cast<ort::Value*>(value), &data[i]));
  }
  const Plan plan = find_plan(specs, num_outputs);
  bool is_dynamic = false;
  for (size_t i = 0; i < num_outputs; ++i) {
    is_dynamic |= runtime().output(plan.get(), static_cast<int32_t>(i))->is_dynamic != 0;
  }
  is_dynamic ? run_dynamic(*plan, std::move(data), context) : run(*plan, data, context);
}

NodeKernel::Plan NodeKernel::find_plan(const std::vector<Spec>& specs, size_t num_outputs) {
  std::vector<int64_t> key{static_cast<int64_t>(runtime().epoch())};
  for (const Spec& spec : specs) {
    key.push_back(static_cast<int64_t>(spec.sizes.size()) << 32 | spec.dtype);
    key.insert(key.end(), spec.sizes.begin(), spec.sizes.end());
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Known& known : known_) {
      if (known.key == key) {
        return known.plan;
      }
    }
  }
  check_said_of_inputs(specs);
  // Authors' code, so without the lock.
  Plan plan(call_.prepare(specs, num_outputs, /*infer_only=*/false),
            [](const oneop_plan* made) { runtime().release_plan(const_cast<oneop_plan*>(made)); });
  check_said_of_outputs(*plan);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() < kMaxKnown) {
    known_.push_back({std::move(key), plan});
  } else {
    known_[turn_++ % kMaxKnown] = {std::move(key), plan};
  }
  return plan;
}

void* NodeKernel::output(ort::KernelContext* context, int32_t index, const oneop_tensor& tensor,
                         const int64_t* sizes, std::vector<std::unique_ptr<char[]>>* spare) {
  ort::Value* value = nullptr;
  check(api().output(context, index, sizes, tensor.ndim, &value));
  if (value == nullptr) {
    spare->push_back(std::make_unique<char[]>(std::max<int64_t>(bytes_of(tensor, sizes), 1)));
    return spare->back().get();
  }
  if (spec_of_value(value).dtype != tensor.dtype) {
    throw Failure("op \"" + std::string(call_.def().name) + "\", output " + std::to_string(index) +
                  ": the model declares another dtype than the op gives");
  }
  void* data = nullptr;
  check(api().tensor_data(value, &data));
  return data;
}

void NodeKernel::run(const oneop_plan& plan, const std::vector<void*>& inputs,
                     ort::KernelContext* context) {
  std::vector<std::unique_ptr<char[]>> spare;
  std::vector<void*> data = inputs;
  for (int32_t i = 0; i < runtime().num_outputs(&plan); ++i) {
    const oneop_tensor& tensor = *runtime().output(&plan, i);
    data.push_back(output(context, i, tensor, tensor.shape, &spare));
  }
  if (runtime().run(&plan, data.data(), nullptr, nullptr) != ONEOP_OK) {
    ort::throw_last_error();
  }
}

// The kernel writes to memory for the largest results; ONNX Runtime gets what it has made.
void NodeKernel::run_dynamic(const oneop_plan& plan, std::vector<void*> data,
                             ort::KernelContext* context) {
  std::vector<std::unique_ptr<char[]>> largest;
  std::vector<std::vector<int64_t>> sizes;
  std::vector<int64_t*> rooms;
  const int32_t count = runtime().num_outputs(&plan);
  for (int32_t i = 0; i < count; ++i) {
    const oneop_tensor& tensor = *runtime().output(&plan, i);
    largest.push_back(
        std::make_unique<char[]>(std::max<int64_t>(bytes_of(tensor, tensor.shape), 1)));
    data.push_back(largest.back().get());
    sizes.emplace_back(tensor.shape, tensor.shape + tensor.ndim);
  }
  for (std::vector<int64_t>& room : sizes) {
    rooms.push_back(room.data());
  }
  if (runtime().run_dynamic(&plan, data.data(), nullptr, nullptr, rooms.data()) != ONEOP_OK) {
    ort::throw_last_error();
  }
  std::vector<std::unique_ptr<char[]>> spare;
  for (int32_t i = 0; i < count; ++i) {
    const oneop_tensor& tensor = *runtime().output(&plan, i);
    void* to = output(context, i, tensor, rooms[i], &spare);
    const int64_t bytes = bytes_of(tensor, rooms[i]);
    if (bytes > 0) {
      std::memcpy(to, largest[i].get(), bytes);
    }
  }
}

}  // namespace oneop
