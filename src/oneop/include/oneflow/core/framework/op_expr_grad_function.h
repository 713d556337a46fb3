// OpExprGradFunction: a gradient written for eager mode. It runs on symbols, and what it calls, of
// registered ops and of torch's, becomes the same graph that REGISTER_USER_OP_GRAD describes. So
// one registration serves eager mode, jobs and torch.compile.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_EXPR_GRAD_FUNCTION_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_EXPR_GRAD_FUNCTION_H_

#include "oneflow/core/framework/user_op_grad_registry.h"
#include "oneop/sdk/functor.h"
#include "oneop/sdk/grad_trace.h"

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
      state.AutoGradCaptureState::input_requires_grad.push_back(input->requires_grad());
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
        const int32_t output = i - num_inputs;
        const bool has_grad =
            frame->output_has_grad == nullptr || frame->output_has_grad[output] != 0;
        // An integer output has no gradient, and authors of classes need not ask: it is zero, as
        // OneFlow's is. A step that nobody uses is dropped.
        out_grads.push_back(has_grad ? trace.NewTensor(i + num_outputs, meta, false)
                                     : ZerosLike(outputs.back()));
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
      if (in_grads[i] == nullptr) {
        ::oneop::sdk::ThrowText(
            ONEOP_ERROR_RUNTIME,
            {"Apply leaves the gradient of input ", ::oneop::sdk::Digits(i), " (\"",
             op.oneop_inputs()[static_cast<size_t>(i)],
             "\") null, which is needed\n  where it is zero, say so: functional::Call("
             "\"aten::zeros_like\", x)\n  where there is none, mark the input: "
             "has_input_arg_modify_fn, set_requires_grad(false)"});
      }
      const int32_t blob = trace.BlobOf(*in_grads[i]);
      if (const int32_t code = sink->bind(sink, i, blob, status)) {
        throw code;
      }
    }
  }

  static std::shared_ptr<Tensor> ZerosLike(const std::shared_ptr<Tensor>& tensor) {
    return ::oneop::sdk::CallFunction<std::shared_ptr<Tensor>>("aten::zeros_like", tensor);
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

#if defined(ONEOP_PORT)
#include "oneop/sdk/port.h"
#include "oneop/sdk/port/static_zeros.h"
#endif

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_EXPR_GRAD_FUNCTION_H_
