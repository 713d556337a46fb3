// op_node.cpp: running a gradient, eagerly or under compiled autograd.
#include "torch_host/autograd/op_node.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/dynamo/compiled_autograd.h>

#include <mutex>
#include <sstream>
#include <unordered_map>

#include "engine/calls/refusal.h"
#include "engine/ops/error.h"
#include "engine/registry/registry.h"
#include "torch_host/calls/sharded_calls.h"
#include "torch_host/calls/symbols.h"
#include "torch_host/interpreter/python_throw.h"

namespace oneop {
namespace {

using torch::autograd::variable_list;

thread_local int backward_depth = 0;

struct InBackward {
  InBackward() { ++backward_depth; }
  ~InBackward() { --backward_depth; }
};

template <typename T, typename... Args>
PtrOf<T> make_node_of(Args&&... args) {
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
  return c10::make_intrusive<T>(std::forward<Args>(args)...);
#else
  return std::shared_ptr<T>(new T(std::forward<Args>(args)...), torch::autograd::deleteNode);
#endif
}

class MissingGradientNode final : public torch::autograd::Node {
 public:
  MissingGradientNode(std::string op, torch::autograd::edge_list&& edges)
      : Node(std::move(edges)), op_(std::move(op)) {}
  std::string name() const override { return op_ + "HasNoGradient"; }
  variable_list apply(variable_list&& grads) override {
    for (const at::Tensor& grad : grads) {
      if (grad.defined()) {
        throw_python_error(Error("GradientNotFoundError", missing_gradient_text(op_)));
      }
    }
    return variable_list(num_outputs());
  }

 private:
  std::string op_;
};

// Compiled autograd hands plans through a graph as numbers, so those it has seen stay.
class PlanNumbers {
 public:
  static int64_t number_of(const std::shared_ptr<const Backward>& plan) {
    std::lock_guard<std::mutex> lock(mutex());
    all()[reinterpret_cast<int64_t>(plan.get())] = plan;
    return reinterpret_cast<int64_t>(plan.get());
  }
  static std::shared_ptr<const Backward> find(int64_t number) {
    std::lock_guard<std::mutex> lock(mutex());
    return all().at(number);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex* mutex = new std::mutex;
    return *mutex;
  }
  static std::unordered_map<int64_t, std::shared_ptr<const Backward>>& all() {
    static auto* plans = new std::unordered_map<int64_t, std::shared_ptr<const Backward>>;
    return *plans;
  }
};

variable_list run_traced(const variable_list& grads, const std::vector<c10::IValue>& args) {
  torch::dynamo::autograd::PackedArgs packed(args);
  const auto number = packed.unpack<int64_t>();
  const auto saved = packed.unpack<variable_list>();
  const auto wanted = packed.unpack<std::vector<bool>>();
  InBackward guard;
  return PlanNumbers::find(number)->run_saved(saved, grads, wanted);
}

}  // namespace

bool is_in_backward() { return backward_depth > 0; }

std::string missing_gradient_text(const std::string& op) {
  const OpSlot* slot = Registry::global().find_slot(op);
  const RecordPtr record = slot == nullptr ? nullptr : slot->record();
  OpDef unknown;  // an op that was removed since
  unknown.name = op;
  return missing_gradient_text(record == nullptr ? unknown : *record->op,
                               "\n  or call it under torch.no_grad(), or on x.detach()");
}

variable_list Backward::run_saved(const variable_list& saved, const variable_list& grads,
                                  const std::vector<bool>& wanted) const {
  Blobs blobs(plan->num_blobs);
  for (size_t i = 0; i < plan->saved.size(); ++i) {
    blobs[plan->saved[i]] = saved[i];
  }
  return run(&blobs, grads, wanted);
}

void OpNode::save(const at::Tensor& tensor, bool is_output) {
  saved_.emplace_back(tensor, is_output);
  if (!is_output) {
    ++num_saved_inputs_;
  }
}

void OpNode::release_variables() {
  for (auto& saved : saved_) {
    saved.reset_data();
  }
}

at::Tensor OpNode::unpack_saved(size_t i) {
  return i < num_saved_inputs_ ? saved_[i].unpack() : saved_[i].unpack(getptr());
}

std::vector<bool> OpNode::wanted_inputs() const {
  std::vector<bool> wanted;
  for (size_t i = 0; i < num_outputs(); ++i) {
    if (!task_should_compute_output(i) && plan_->plan->grad_of_input[i] >= 0) {
      wanted.resize(num_outputs());
      for (size_t k = 0; k < wanted.size(); ++k) {
        wanted[k] = task_should_compute_output(k);
      }
      break;
    }
  }
  return wanted;
}

namespace {

// Outputs that nobody used have no gradient; a step that reads it gets zeros.
void fill_missing_grads(const GradPlan& plan, const torch::autograd::Node& node,
                        const PyShared& zeros, variable_list* grads) {
  for (size_t i = 0; i < grads->size(); ++i) {
    if (!(*grads)[i].defined() && plan.reads_grad[i]) {
      const auto& metadata = node.input_metadata(i);
      if (metadata.was_default_constructed()) {
        continue;
      }  // of integers, which have no gradient
      (*grads)[i] = zeros == nullptr ? metadata.zeros_like() : zeros_on_mesh(zeros, i);
    }
  }
}

// A gradient that an op made with a size which depends on data has a symbol of its own for it. Who
// traces cannot know that it is that of the input: the program checks it when it runs.
void expect_data_sizes(c10::SymIntArrayRef expected, c10::SymIntArrayRef sizes) {
  if (expected.size() != sizes.size()) {
    return;
  }
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d].is_symbolic() && !hint_of(sizes[d])) {
      sizes[d].sym_eq(expected[d]).expect_true(__FILE__, __LINE__);
    }
  }
}

}  // namespace

// torch checks this too, but its message says neither which input it is nor where the gradient is
// written.
void OpNode::check_results(const variable_list& results) const {
  for (size_t i = 0; i < results.size(); ++i) {
    const torch::autograd::Edge& edge = next_edge(i);
    if (!results[i].defined() || !edge.is_valid()) {
      continue;
    }
    const auto& expected = edge.function->input_metadata(edge.input_nr);
    if (expected.was_default_constructed()) {
      continue;
    }
    if (results[i].unsafeGetTensorImpl()->has_symbolic_sizes_strides()) {
      expect_data_sizes(expected.shape_as_dim_vector(), results[i].sym_sizes());
    }
    const bool has_shape = expected.is_same_shape(results[i]) ||
                           expected.is_expandable_to_shape(results[i]);  // torch sums over it
    const bool is_real =
        !results[i].is_complex() || c10::isComplexType(c10::typeMetaToScalarType(expected.dtype()));
    if (has_shape && is_real) {
      continue;
    }
    std::ostringstream text;
    if (has_shape) {
      text << "a real tensor, found a complex one\n  take its real part: torch.real(dx)";
    } else {
      text << "a tensor of shape " << expected.shape_as_dim_vector() << ", found shape "
           << results[i].sym_sizes();
    }
    throw_python_error(Error("GradientError", plan().name + ": for input " +
                                                  in_quotes(plan().input_names[i]) + " expected " +
                                                  text.str() + "\n  at " + plan().place));
  }
}

variable_list OpNode::apply(variable_list&& grads) {
  bool any = false;
  for (const at::Tensor& grad : grads) {
    any |= grad.defined();
  }
  if (!any) {
    return variable_list(num_outputs());
  }
  fill_missing_grads(*plan_->plan, *this, zeros_, &grads);
  Backward::Blobs blobs(plan_->plan->num_blobs);
  for (size_t i = 0; i < saved_.size(); ++i) {
    blobs[plan_->plan->saved[i]] = unpack_saved(i);
  }
  InBackward guard;
  variable_list results = plan_->run(&blobs, grads, wanted_inputs());
  check_results(results);
  return results;
}

void OpNode::compiled_args(torch::dynamo::autograd::CompiledNodeArgs& args) const {
  args.collect(name());
  args.collect(PlanNumbers::number_of(plan_));
  for (size_t i = 0; i < saved_.size(); ++i) {
    args.collect(saved_[i], i >= num_saved_inputs_);
  }
}

variable_list OpNode::apply_with_saved(const variable_list& inputs,
                                       torch::dynamo::autograd::SwapSavedVariables& swap) {
  using torch::dynamo::autograd::IValuePacker;
  for (auto& variable : saved_) {
    swap.before(variable);
  }
  variable_list grads = inputs;
  fill_missing_grads(*plan_->plan, *this, zeros_, &grads);
  variable_list saved;
  for (size_t i = 0; i < saved_.size(); ++i) {
    saved.push_back(unpack_saved(i));
  }

  torch::dynamo::autograd::PackedArgs packed;
  packed.pack(PlanNumbers::number_of(plan_));
  packed.pack(saved);
  packed.pack(wanted_inputs());
  const std::vector<c10::IValue> args = std::move(packed).vec();
  std::vector<at::TypePtr> schema = {IValuePacker<int64_t>::packed_type(),
                                     IValuePacker<variable_list>::packed_type(),
                                     IValuePacker<std::vector<bool>>::packed_type()};
  const auto output_metadata =
      IValuePacker<std::vector<std::optional<torch::autograd::InputMetadata>>>::pack(
          torch::dynamo::autograd::get_input_metadata(next_edges()));
  const auto& compiler = torch::dynamo::autograd::getPyCompilerInterface();
  const std::string fn =
      compiler->bind_function(swap.get_py_compiler(), name(), &run_traced, schema,
                              /*is_custom_function=*/true, /*is_traceable=*/true);
  const variable_list results = compiler->call_function(swap.get_py_compiler(), "apply_functional",
                                                        fn, grads, args, output_metadata);
  for (auto& variable : saved_) {
    swap.after(variable);
  }
  return results;
}

PtrOf<OpNode> make_node(const TorchOp* op, std::shared_ptr<const Backward> plan,
                        torch::autograd::edge_list&& edges) {
  return make_node_of<OpNode>(op, std::move(plan), std::move(edges));
}

NodePtr make_missing_gradient_node(const std::string& op, torch::autograd::edge_list&& edges) {
  return make_node_of<MissingGradientNode>(op, std::move(edges));
}

}  // namespace oneop
