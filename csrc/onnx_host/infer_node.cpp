// infer_node.cpp: shapes and dtypes before a node runs. Where all sizes of inputs are known, so are
// those of outputs. Else only dtypes and numbers of axes are told: a size that inference gave for
// some inputs proves nothing for others. NodeKernel compares what was told with each call.
#include <algorithm>
#include <atomic>
#include <utility>

#include "onnx_host/node_kernel.h"

namespace oneop {
namespace {

using ort::api;
using ort::check;
using ort::runtime;
using ort::Spec;

// Sizes to try for those that are not known: the first one, then so much more for each. An op may
// take multiples of a power of two only, or equal sizes; it may subtract them, or leave out axes of
// length 1.
struct Sizes {
  int64_t first;
  int64_t more;
};
constexpr Sizes kTried[] = {{64, 0}, {128, 0},  {2, 0},   {1, 0},
                            {3, 0},  {4096, 0}, {64, 64}, {4096, -3}};

std::vector<Spec> outputs_of(const oneop_plan* plan) {
  std::vector<Spec> specs;
  for (int32_t i = 0; i < runtime().num_outputs(plan); ++i) {
    const oneop_tensor& tensor = *runtime().output(plan, i);
    Spec spec{tensor.dtype, {tensor.shape, tensor.shape + tensor.ndim}};
    if (tensor.is_dynamic != 0) {
      spec.sizes.assign(spec.sizes.size(), -1);
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

std::vector<Spec> infer_with(const NodeCall& call, std::vector<Spec> inputs, size_t num_outputs,
                             Sizes sizes) {
  int64_t next = sizes.first;
  for (Spec& spec : inputs) {
    for (int64_t& length : spec.sizes) {
      if (length < 0) {
        length = std::max<int64_t>(next, 1);
        next += sizes.more;
      }
    }
  }
  oneop_plan* plan = call.prepare(inputs, num_outputs, /*infer_only=*/true);
  std::vector<Spec> outputs = outputs_of(plan);
  runtime().release_plan(plan);
  return outputs;
}

// Dtypes and numbers of axes. Of an output for which they differ nothing is known.
std::vector<Spec> merged(const std::vector<std::vector<Spec>>& results) {
  std::vector<Spec> outputs = results[0];
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].sizes.assign(outputs[i].sizes.size(), -1);
    for (const std::vector<Spec>& result : results) {
      const Spec& other = result[i];
      if (other.dtype != outputs[i].dtype || other.sizes.size() != outputs[i].sizes.size()) {
        outputs[i].dtype = ONEOP_DTYPE_INVALID;
        break;
      }
    }
  }
  return outputs;
}

// Inference with sizes in the place of those that are not known. Empty: it fails for all of them,
// and may still do for others; the call itself says what is wrong, when it runs.
std::vector<Spec> infer_open(const NodeCall& call, const std::vector<Spec>& inputs,
                             size_t num_outputs) {
  std::vector<std::vector<Spec>> results;
  for (const Sizes& sizes : kTried) {
    try {
      results.push_back(infer_with(call, inputs, num_outputs, sizes));
    } catch (const ort::Failure&) {
    }
  }
  return results.empty() ? std::vector<Spec>() : merged(results);
}

void set_output(ort::InferContext* context, size_t index, const Spec& spec) {
  static std::atomic<uint64_t> symbols{0};
  ort::TensorInfo* made = nullptr;
  check(api().create_info(&made));
  const std::unique_ptr<ort::TensorInfo, void (*)(ort::TensorInfo*)> info(made, api().release_info);
  std::vector<std::string> names;
  std::vector<const char*> pointers;
  for (int64_t size : spec.sizes) {  // each size that is not known is one of its own
    names.push_back(size >= 0 ? "" : "oneop_" + std::to_string(symbols++));
  }
  for (const std::string& name : names) {
    pointers.push_back(name.c_str());
  }
  check(api().set_dtype(info.get(), ort::dtype_of_code(spec.dtype)));
  check(api().set_sizes(info.get(), spec.sizes.data(), spec.sizes.size()));
  check(api().set_symbols(info.get(), pointers.data(), pointers.size()));
  check(api().set_infer_output(context, index, info.get()));
}

}  // namespace

void infer_node(const oneop_op* op, size_t num_required, ort::InferContext* context) {
  size_t num_inputs = 0;
  check(api().infer_num_inputs(context, &num_inputs));
  const NodeCall call(op, *reader_of(context));
  std::vector<Spec> inputs;
  bool is_open = false;
  for (size_t i = 0; i < num_inputs; ++i) {
    ort::TensorInfo* info = nullptr;
    check(api().infer_input(context, i, &info));
    Spec spec = ort::spec_of(info);
    if (spec.dtype == ONEOP_DTYPE_INVALID) {
      return;  // nothing is known of it
    }
    for (int64_t length : spec.sizes) {
      is_open |= length < 0;
    }
    inputs.push_back(std::move(spec));
  }
  const size_t num_outputs = call.num_outputs();
  const std::vector<Spec> outputs = is_open ? infer_open(call, inputs, num_outputs)
                                            : infer_with(call, inputs, num_outputs, kTried[0]);
  for (size_t i = 0; i < std::min(num_required, outputs.size()); ++i) {
    if (outputs[i].dtype != ONEOP_DTYPE_INVALID) {
      set_output(context, i, outputs[i]);
    }
  }
}

}  // namespace oneop
