// node_call.cpp: see node_call.h; the runtime checks what is left to check.
#include "onnx_host/node_call.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace oneop {
namespace {

using ort::Failure;

const oneop_op_def& definition_of(const oneop_op* op) {
  const oneop_op_def* def = ort::runtime().definition(op);
  if (def == nullptr) {
    ort::throw_last_error();
  }
  return *def;
}

constexpr int64_t kMostTensors = 65536;  // of an argument, so that their sum is a number

std::vector<int32_t> counts_of(const NodeReader& reader, const char* name) {
  Item item;
  std::vector<int32_t> counts;
  if (reader.read(name, false, &item)) {
    for (const Item& count : item.items) {
      if (count.integer < 0 || count.integer > kMostTensors) {
        throw Failure("node attribute \"" + std::string(name) + "\": expected counts from 0 to " +
                      std::to_string(kMostTensors) + ", found " + std::to_string(count.integer));
      }
      counts.push_back(static_cast<int32_t>(count.integer));
    }
  }
  return counts;
}

// How many tensors of a node each argument has, where the node does not say: arguments in their
// order, and a list at the end takes the rest.
std::vector<int32_t> default_counts(const oneop_arg_def* const* args, int32_t num_args,
                                    size_t num_tensors) {
  std::vector<int32_t> counts;
  auto left = static_cast<int32_t>(num_tensors);
  for (int32_t i = 0; i < num_args; ++i) {
    const bool takes_rest = i + 1 == num_args && (args[i]->count_is_minimum || args[i]->count > 1);
    counts.push_back(takes_rest ? left : std::min(left, std::max(args[i]->count, 1)));
    left -= counts.back();
  }
  return counts;
}

}  // namespace

int num_required(const oneop_op_def& def) {
  int count = 0;
  for (int32_t i = 0; i < def.num_outputs; ++i) {
    count += def.outputs[i]->is_optional ? 0 : def.outputs[i]->count;
  }
  return count;
}

NodeCall::NodeCall(const oneop_op* op, const NodeReader& reader)
    : op_(op),
      def_(definition_of(op)),
      input_counts_(counts_of(reader, "input_counts")),
      output_counts_(counts_of(reader, "output_counts")) {
  for (int32_t i = 0; i < def_.num_attrs; ++i) {
    const oneop_attr_def& attr = *def_.attrs[i];
    const bool is_text = attr.type == ONEOP_ATTR_STRING || attr.type == ONEOP_ATTR_BYTES;
    Item item;
    if (!reader.read(attr.name, is_text, &item)) {
      continue;
    }
    std::unique_ptr<OwnedAttr> made = make_attr(attr, std::move(item));
    if (made == nullptr) {
      throw Failure("op \"" + std::string(def_.name) + "\", node attribute \"" + attr.name +
                    "\": it does not hold a value of the type that the op declares");
    }
    attrs_.push_back(made->attr);
    owned_.push_back(std::move(made));
  }
  check_counts("input_counts", input_counts_, def_.num_inputs);
  check_counts("output_counts", output_counts_, def_.num_outputs);
}

void NodeCall::check_counts(const char* name, const std::vector<int32_t>& counts,
                            int32_t num_args) const {
  if (!counts.empty() && counts.size() != static_cast<size_t>(num_args)) {
    throw Failure("op \"" + std::string(def_.name) + "\", node attribute \"" + name +
                  "\": there are " + std::to_string(counts.size()) + " counts for " +
                  std::to_string(num_args) + " arguments");
  }
}

size_t NodeCall::num_outputs() const {
  return output_counts_.empty()
             ? num_required(def_)
             : std::accumulate(output_counts_.begin(), output_counts_.end(), size_t{0});
}

oneop_plan* NodeCall::prepare(const std::vector<ort::Spec>& specs, size_t num_outputs,
                              bool infer_only) const {
  const std::vector<int32_t> inputs =
      input_counts_.empty() ? default_counts(def_.inputs, def_.num_inputs, specs.size())
                            : input_counts_;
  const int64_t num_counted = std::accumulate(inputs.begin(), inputs.end(), int64_t{0});
  if (!input_counts_.empty() && num_counted != static_cast<int64_t>(specs.size())) {
    throw Failure("op \"" + std::string(def_.name) +
                  "\", node attribute \"input_counts\": it says " + std::to_string(num_counted) +
                  " tensors, and the node has " + std::to_string(specs.size()));
  }
  std::vector<int32_t> outputs = output_counts_;
  if (outputs.empty() && num_outputs != static_cast<size_t>(num_required(def_))) {
    outputs = default_counts(def_.outputs, def_.num_outputs, num_outputs);
  }
  std::vector<oneop_tensor> tensors(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    tensors[i].shape = const_cast<int64_t*>(specs[i].sizes.data());
    tensors[i].ndim = static_cast<int32_t>(specs[i].sizes.size());
    tensors[i].dtype = specs[i].dtype;
    tensors[i].device_type = ONEOP_DEVICE_CPU;
    tensors[i].device_index = -1;
  }
  oneop_request request{};
  request.size = sizeof request;
  request.num_inputs = static_cast<int32_t>(tensors.size());
  request.num_attrs = static_cast<int32_t>(attrs_.size());
  request.device_type = ONEOP_DEVICE_CPU;
  request.inputs = tensors.data();
  request.input_counts = inputs.data();
  request.output_counts = outputs.empty() ? nullptr : outputs.data();  // null: as few as may be
  request.attrs = attrs_.data();
  request.device_index = -1;
  request.num_input_counts = static_cast<int32_t>(inputs.size());
  request.num_output_counts = static_cast<int32_t>(outputs.size());
  oneop_plan* plan =
      infer_only ? ort::runtime().infer(op_, &request) : ort::runtime().prepare(op_, &request);
  if (plan == nullptr) {
    ort::throw_last_error();
  }
  if (!infer_only && ort::runtime().num_outputs(plan) != static_cast<int32_t>(num_outputs)) {
    const std::string found = std::to_string(ort::runtime().num_outputs(plan));
    ort::runtime().release_plan(plan);
    throw Failure("op \"" + std::string(def_.name) + "\" gives " + found +
                  " tensors, and the node has " + std::to_string(num_outputs) + " outputs");
  }
  return plan;
}

}  // namespace oneop
