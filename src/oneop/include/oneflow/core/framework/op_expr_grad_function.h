// OpExprGradFunction: a gradient written for eager mode. It runs on symbols, and what it calls
// becomes the same graph of backward ops that REGISTER_USER_OP_GRAD describes. So one registration
// serves eager mode, jobs and torch.compile.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_EXPR_GRAD_FUNCTION_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_EXPR_GRAD_FUNCTION_H_

#include "oneflow/core/framework/op_interpreter/op_interpreter_util.h"
#include "oneflow/core/framework/user_op_grad_registry.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Records the calls that a gradient makes as ops of the host's graph.
class GradTrace final : public Recorder {
 public:
  GradTrace(oneop_frame* frame, oneop_grad_sink* sink)
      : frame_(frame),
        sink_(sink),
        next_blob_(frame->num_input_tensors + 2 * frame->num_output_tensors),
        outer_(thread_state.recorder) {
    thread_state.recorder = this;
    __atomic_add_fetch(&num_recording, 1, __ATOMIC_RELAXED);
  }
  GradTrace(const GradTrace&) = delete;
  GradTrace& operator=(const GradTrace&) = delete;
  ~GradTrace() {
    __atomic_sub_fetch(&num_recording, 1, __ATOMIC_RELAXED);
    thread_state.recorder = outer_;
  }

  // A tensor of the forward op, or the gradient of one.
  std::shared_ptr<oneflow::one::Tensor> NewTensor(int32_t blob, const oneop_tensor* meta,
                                                  bool requires_grad) {
    return std::make_shared<oneflow::one::Tensor>(NewSymbol(blob, meta, requires_grad));
  }
  // The number of the blob that a tensor stands for.
  int32_t BlobOf(const oneflow::one::Tensor& tensor) const {
    const oneop_handle handle = tensor.oneop_handle_ptr();
    if (!IsSymbol(handle) || Symbol::Of(handle)->trace != this) {
      ThrowText(ONEOP_ERROR_RUNTIME, {"the gradient of op \"", frame_->op_type_name,
                                      "\" returns a tensor that no call of it has made"});
    }
    return Symbol::Of(handle)->blob;
  }

  ONEOP_COLD int32_t Record(const oneop_call* call, oneop_handle* outputs,
                            oneop_status* status) override {
    std::vector<oneop_grad_input> inputs;
    for (int32_t i = 0; i != call->num_inputs; ++i) {
      if (call->inputs[i] == nullptr) {
        continue;
      }
      if (!IsSymbol(call->inputs[i]) || Symbol::Of(call->inputs[i])->trace != this) {
        return Fail(status, "a gradient mixes tensors that exist with those of its graph");
      }
      inputs.push_back({call->input_names[i], Symbol::Of(call->inputs[i])->blob, 0});
    }
    std::vector<oneop_grad_output> out;
    for (int32_t i = 0; i != call->num_outputs; ++i) {
      if (!out.empty() && SameName(out.back().arg, call->output_names[i])) {
        ++out.back().count;
      } else {
        out.push_back({call->output_names[i], 1, 0});
      }
    }
    const std::string name = Join({frame_->op_name, "_grad_", Digits(next_blob_)});
    oneop_grad_op op{};
    op.size = sizeof op;
    op.num_inputs = static_cast<int32_t>(inputs.size());
    op.num_outputs = static_cast<int32_t>(out.size());
    op.num_attrs = call->num_attrs;
    op.op_name = name.c_str();
    op.op_type_name = call->op_type_name;
    op.inputs = inputs.data();
    op.outputs = out.data();
    op.attrs = call->attrs;
    if (const int32_t code = sink_->add_op(sink_, &op, status)) {
      return code;
    }
    for (int32_t i = 0; i != call->num_outputs; ++i) {
      outputs[i] = NewSymbol(next_blob_++, nullptr, false);
    }
    return ONEOP_OK;
  }

 private:
  struct Symbol : oneop_symbol {
    GradTrace* trace;
    int32_t blob;
    const oneop_tensor* tensor;
    static Symbol* Of(oneop_handle handle) { return static_cast<Symbol*>(SymbolOf(handle)); }
  };
  oneop_handle NewSymbol(int32_t blob, const oneop_tensor* meta, bool requires_grad) {
    auto* symbol = new Symbol{};
    symbol->size = sizeof(oneop_symbol);
    symbol->references = 1;
    symbol->destroy = [](oneop_symbol* self) { delete static_cast<Symbol*>(self); };
    symbol->record = [](oneop_symbol* self, const oneop_call* call, oneop_handle* outputs,
                        oneop_status* status) {
      return static_cast<Symbol*>(self)->trace->Record(call, outputs, status);
    };
    symbol->meta = &Meta;
    symbol->requires_grad = requires_grad;
    symbol->trace = this;
    symbol->blob = blob;
    symbol->tensor = meta;
    return reinterpret_cast<oneop_handle>(
        reinterpret_cast<uintptr_t>(static_cast<oneop_symbol*>(symbol)) + 1);
  }
  ONEOP_COLD static const oneop_tensor* Meta(oneop_symbol* self, oneop_status* status) {
    auto* symbol = static_cast<Symbol*>(self);
    if (symbol->tensor == nullptr) {
      Fail(status,
           "a gradient asks for the shape or dtype of what a call of it returns; only those of the "
           "forward "
           "op's inputs, outputs and output gradients are known");
      return nullptr;
    }
    if (oneop_reads* reads = symbol->trace->frame_->reads) {
      reads->shapes = reads->dtypes = 1;  // so the host keeps this graph for these shapes alone
    }
    return symbol->tensor;
  }
  static int32_t Fail(oneop_status* status, std::string_view text) {
    status->report(status, ONEOP_ERROR_RUNTIME, text.data(), static_cast<int64_t>(text.size()),
                   nullptr, 0);
    return ONEOP_ERROR_RUNTIME;
  }

  oneop_frame* frame_;
  oneop_grad_sink* sink_;
  int32_t next_blob_;
  Recorder* outer_;
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace one {

class AutoGradCaptureState {
 public:
  virtual ~AutoGradCaptureState() = default;
  const TensorTuple& SavedTensors() const { return saved_; }
  size_t SaveTensorForBackward(const std::shared_ptr<Tensor>& tensor) {
    saved_.push_back(tensor);
    return saved_.size() - 1;
  }

  std::vector<bool> input_requires_grad;

 private:
  TensorTuple saved_;
};

// What the registration calls, whatever the state is.
class OpExprGradFunctionIf {
 public:
  virtual ~OpExprGradFunctionIf() = default;
  virtual Maybe<void> Init(const OpExpr& op) = 0;
  virtual Maybe<void> OneopRun(const TensorTuple& inputs, const TensorTuple& outputs,
                               const AttrMap& attrs, const TensorTuple& out_grads,
                               TensorTuple* in_grads) const = 0;
};

template <class State>
class OpExprGradFunction : public OpExprGradFunctionIf {
 public:
  virtual Maybe<void> Capture(State*, const TensorTuple&, const TensorTuple&,
                              const AttrMap&) const {
    return Error(ONEOP_ERROR_NOT_IMPLEMENTED, nullptr, 0, "Capture is not overridden");
  }
  virtual Maybe<void> Apply(const State* ctx, const TensorTuple& out_grads,
                            TensorTuple* in_grads) const = 0;

  Maybe<void> OneopRun(const TensorTuple& inputs, const TensorTuple& outputs, const AttrMap& attrs,
                       const TensorTuple& out_grads, TensorTuple* in_grads) const override {
    State state;
    for (const auto& input : inputs) {
      state.input_requires_grad.push_back(input->requires_grad());
    }
    JUST(Capture(&state, inputs, outputs, attrs));
    return Apply(&state, out_grads, in_grads);
  }
};

class OneopEagerGrad {
 public:
  using Make = std::unique_ptr<OpExprGradFunctionIf> (*)();
  ONEOP_COLD OneopEagerGrad(std::string_view op_type_name, Make make, const char* file,
                            int32_t line)
      : make_(make) {
    def_.size = sizeof def_;
    def_.line = line;
    def_.file = file;
    def_.op_type_name = ::oneop::sdk::library.arena.CopyText(op_type_name);
    def_.self = this;
    def_.generate = &Generate;
    ::oneop::sdk::library.eager_grads.Add(&def_);
  }

 private:
  ONEOP_COLD static int32_t Generate(void* self, oneop_frame* frame, oneop_grad_sink* sink,
                                     oneop_status* status) {
    const auto* me = static_cast<OneopEagerGrad*>(self);
    try {
      me->Run(frame, sink, status);
      return ONEOP_OK;
    } catch (int32_t reported) {  // by the host's own function
      return reported;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, {me->def_.file, me->def_.line});
    }
  }
  ONEOP_COLD void Run(oneop_frame* frame, oneop_grad_sink* sink, oneop_status* status) const {
    ::oneop::sdk::GradTrace trace(frame, sink);
    const int32_t num_inputs = frame->num_input_tensors;
    const int32_t num_outputs = frame->num_output_tensors;
    TensorTuple inputs, outputs, out_grads, in_grads;
    for (int32_t i = 0; i != num_inputs + num_outputs; ++i) {
      const oneop_tensor* meta = ::oneop::sdk::TensorAt(frame, i);
      const bool needs =
          i < num_inputs && frame->input_needs_grad != nullptr && frame->input_needs_grad[i] != 0;
      (i < num_inputs ? inputs : outputs).push_back(trace.NewTensor(i, meta, needs));
      if (i >= num_inputs) {
        out_grads.push_back(trace.NewTensor(i + num_outputs, meta, false));
      }
    }
    const std::unique_ptr<OpExprGradFunctionIf> grad = make_();
    const UserOpExpr op(frame);
    ::oneop::sdk::ThrowIfError(grad->Init(op));
    ::oneop::sdk::ThrowIfError(
        grad->OneopRun(inputs, outputs, AttrMap(frame), out_grads, &in_grads));
    if (in_grads.size() > inputs.size()) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_RUNTIME,
                              {"Apply gives ", ::oneop::sdk::Digits(in_grads.size()),
                               " gradients for ", ::oneop::sdk::Digits(num_inputs), " inputs"});
    }
    in_grads.resize(inputs.size());
    for (int32_t i = 0; i != num_inputs; ++i) {
      if (!inputs[i]->requires_grad()) {
        continue;
      }
      const int32_t blob = in_grads[i] == nullptr ? -1 : trace.BlobOf(*in_grads[i]);
      if (const int32_t code = sink->bind(sink, i, blob, status)) {
        throw code;
      }
    }
  }

  oneop_grad_def def_{};
  Make make_;
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#define REGISTER_OP_EXPR_GRAD_FUNCTION(op_type, Class)                            \
  static const ::oneop::sdk::Registered ONEOP_CAT(oneop_eager_grad_, __COUNTER__) \
      __attribute__((unused)) = *new ::oneflow::one::OneopEagerGrad(              \
          op_type,                                                                \
          []() -> std::unique_ptr<::oneflow::one::OpExprGradFunctionIf> {         \
            return std::make_unique<Class>();                                     \
          },                                                                      \
          __FILE__, __LINE__)

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_EXPR_GRAD_FUNCTION_H_
