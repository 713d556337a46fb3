// OpInterpUtil::Dispatch: calls an op on tensors.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_OP_INTERPRETER_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_OP_INTERPRETER_UTIL_H_

#include "oneflow/core/common/optional.h"
#include "oneflow/core/framework/op_builder.h"
#include "oneflow/core/framework/op_interpreter.h"
#include "oneop/sdk/tensor_state.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Runs a call, or records it where one of its tensors is a symbol or a gradient is being made.
// `find` gives the host's op, which only a call that is run needs.
template <class Find>
inline void RunCall(oneop_call& call, oneop_handle* outputs, Find find) {
  HostStatus status;
  for (int32_t i = 0; i != call.num_inputs; ++i) {
    if (IsSymbol(call.inputs[i])) {
      oneop_symbol* symbol = SymbolOf(call.inputs[i]);
      return status.Check(symbol->record(symbol, &call, outputs, &status.status));
    }
  }
  if (Recorder* recorder = CurrentRecorder()) {
    return status.Check(recorder->Record(&call, outputs, &status.status));
  }
  call.op = find();
  status.Check(Host()->dispatch(&call, outputs, &status.status));
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace one {

// What a call has beside its tensors.
struct OneopSettings {
  OneopSettings() = default;
  OneopSettings(const MutableAttrMap& map) : attrs(&map.OneopStore()) {}  // NOLINT: implicit
  OneopSettings(const OpExprInterpContext& context)                       // NOLINT: implicit
      : attrs(context.OneopAttrs()) {
    if (context.parallel_desc.has_value()) {
      ::oneop::sdk::ThrowText(ONEOP_ERROR_NOT_IMPLEMENTED,
                              {"an op is called for a placement: tensors over several devices are "
                               "DTensors here, and no argument of a call"});
    }
    if (context.device.has_value()) {
      const Device& device = **context.device.value_or_throw();
      device_type = device.enum_type();
      device_index = static_cast<int32_t>(device.device_id());
    }
  }
  const ::oneop::sdk::AttrStore* attrs = nullptr;
  int32_t device_type = ONEOP_DEVICE_INVALID;
  int32_t device_index = 0;
};

class OpInterpUtil {
 public:
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, const TensorTuple& inputs) {
    return Run<T>(op, inputs, {});
  }
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, const TensorTuple& inputs,
                           const MutableAttrMap& attrs) {
    return Run<T>(op, inputs, attrs);
  }
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, const TensorTuple& inputs,
                           const OpExprInterpContext& context) {
    return Run<T>(op, inputs, context);
  }
  // `{x, y}` comes here: no list is made, no tensor counted again.
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, std::initializer_list<OneopInput> inputs) {
    return RunOn<T>(op, HandlesOf(inputs), inputs.size(), {});
  }
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, std::initializer_list<OneopInput> inputs,
                           const MutableAttrMap& attrs) {
    return RunOn<T>(op, HandlesOf(inputs), inputs.size(), attrs);
  }
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, std::initializer_list<OneopInput> inputs,
                           const OpExprInterpContext& context) {
    return RunOn<T>(op, HandlesOf(inputs), inputs.size(), context);
  }

  // OneFlow's form for in-place calls: a result is written into the tensor that `outputs` holds at
  // its place; where it holds none, it gets the result.
  static Maybe<void> Dispatch(const OpExpr& op, const TensorTuple& inputs, TensorTuple* outputs) {
    return RunInto(op, inputs, outputs, {});
  }
  static Maybe<void> Dispatch(const OpExpr& op, const TensorTuple& inputs, TensorTuple* outputs,
                              const MutableAttrMap& attrs) {
    return RunInto(op, inputs, outputs, attrs);
  }
  static Maybe<void> Dispatch(const OpExpr& op, const TensorTuple& inputs, TensorTuple* outputs,
                              const OpExprInterpContext& context) {
    return RunInto(op, inputs, outputs, context);
  }

 private:
  static constexpr size_t kInline = 8;

  ONEOP_COLD static Maybe<void> RunInto(const OpExpr& op, const TensorTuple& inputs,
                                        TensorTuple* outputs, const OneopSettings& settings) {
    const size_t count = op.oneop_outputs().size();
    if (outputs->size() > count) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "op \"" << op.op_type_name() << "\" was built with " << count
             << " outputs and is given " << outputs->size() << " to write";
    }
    Maybe<TensorTuple> maybe = Run<TensorTuple>(op, inputs, settings);
    if (!maybe.IsOk()) {
      return maybe.error();
    }
    const std::shared_ptr<TensorTuple> made = maybe.OneopTake();
    outputs->resize(count);
    for (size_t i = 0; i != count; ++i) {
      if ((*outputs)[i] == nullptr) {
        (*outputs)[i] = (*made)[i];
        continue;
      }
      Maybe<void> written = Write(op, i, (*outputs)[i], (*made)[i]);
      if (!written.IsOk()) {
        return written;
      }
    }
    return Maybe<void>::Ok();
  }
  // By torch's copy_, which knows of views, versions and gradients. It would also convert and
  // broadcast: an op that is called in place does neither.
  static Maybe<void> Write(const OpExpr& op, size_t i, const std::shared_ptr<Tensor>& to,
                           const std::shared_ptr<Tensor>& from) {
    if (*to->shape() != *from->shape() || !(*to->dtype() == *from->dtype())) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "op \"" << op.op_type_name() << "\": output \"" << op.oneop_outputs()[i]
             << "\" cannot be written in place: the tensor given is a "
             << DataType_Name(to->dtype()->data_type()) << " of shape " << to->shape()->ToString()
             << ", the result a " << DataType_Name(from->dtype()->data_type()) << " of shape "
             << from->shape()->ToString();
    }
    oneop_value args[2] = {};
    args[0].kind = args[1].kind = ONEOP_VALUE_TENSOR;
    args[0].value.tensor = to->oneop_handle_ptr();
    args[1].value.tensor = from->oneop_handle_ptr();
    oneop_result ignored{};
    ignored.size = sizeof ignored;
    ignored.set = [](oneop_result*, const oneop_value*) {};
    ignored.give = [](oneop_result*, oneop_handle owned) { ::oneop::sdk::Release(owned); };
    ::oneop::sdk::HostStatus status;
    const oneop_host* host = ::oneop::sdk::Host();
    const int32_t code = host->call_function("aten::copy_", args, 2, &ignored, &status.status);
    if (code != ONEOP_OK) {
      return Error(code, nullptr, 0) << status.text;
    }
    return Maybe<void>::Ok();
  }

  static const oneop_handle* HandlesOf(std::initializer_list<OneopInput> inputs) {
    return inputs.size() == 0 ? nullptr : &inputs.begin()->handle;
  }
  template <class T>
  static Maybe<T> Run(const OpExpr& op, const TensorTuple& inputs, const OneopSettings& settings) {
    if constexpr (std::is_same_v<T, TensorTuple>) {
      if (op.oneop_run() != nullptr) {
        return op.oneop_run()(inputs, settings.attrs);
      }
    }
    std::vector<oneop_handle> handles;
    handles.reserve(inputs.size());
    for (const auto& input : inputs) {
      handles.push_back(input == nullptr ? nullptr : input->oneop_handle_ptr());
    }
    return RunOn<T>(op, handles.data(), handles.size(), settings);
  }

  template <class T>
  static Maybe<T> RunOn(const OpExpr& op, const oneop_handle* in, size_t count,
                        const OneopSettings& settings) {
    const size_t num_outputs = op.oneop_outputs().size();
    if (!ONEOP_LIKELY(count == op.oneop_inputs().size())) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "op \"" << op.op_type_name() << "\" was built with " << op.oneop_inputs().size()
             << " inputs and is called with " << count;
    }
    if (!std::is_same_v<T, TensorTuple> && !ONEOP_LIKELY(num_outputs != 0)) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "op \"" << op.op_type_name() << "\" was built without outputs: there is no tensor "
             << "to return";
    }
    oneop_handle few[kInline];
    std::unique_ptr<oneop_handle[]> many(num_outputs > kInline ? new oneop_handle[num_outputs]
                                                               : nullptr);
    oneop_handle* out = many != nullptr ? many.get() : few;
    try {
      Call(op, in, count, settings, out);
    } catch (const Exception& exception) {
      return exception.error();
    }
    if constexpr (std::is_same_v<T, TensorTuple>) {
      auto tuple = std::make_shared<TensorTuple>();
      for (size_t i = 0; i != num_outputs; ++i) {
        tuple->push_back(Tensor::OneopOwn(out[i]));
      }
      return Maybe<T>(std::move(tuple));
    } else {
      for (size_t i = 1; i < num_outputs; ++i) {
        ::oneop::sdk::Release(out[i]);
      }
      return Maybe<T>(Tensor::OneopOwn(out[0]));
    }
  }

  static void Call(const OpExpr& op, const oneop_handle* in, size_t count,
                   const OneopSettings& settings, oneop_handle* out) {
    const ::oneop::sdk::AttrStore* attrs = settings.attrs;
    oneop_call call;
    call.size = sizeof call;
    call.num_inputs = static_cast<int32_t>(count);
    call.num_outputs = static_cast<int32_t>(op.oneop_outputs().size());
    call.num_attrs = attrs == nullptr ? 0 : attrs->size();
    call.op_type_name = op.op_type_name().c_str();
    call.op = nullptr;
    call.input_names = op.oneop_inputs().data();
    call.inputs = in;
    call.output_names = op.oneop_outputs().data();
    call.attrs = attrs == nullptr ? nullptr : attrs->data();
    call.note = op.OneopNote();
    call.device_type = settings.device_type;
    call.device_index = settings.device_index;
    if (ONEOP_LIKELY(op.oneop_base_attrs().size() == 0)) {
      ::oneop::sdk::RunCall(call, out, [&op] { return op.OneopFind(); });
    } else {
      CallMerged(op, call, attrs, out);
    }
  }
  ONEOP_COLD static void CallMerged(const OpExpr& op, oneop_call call,
                                    const ::oneop::sdk::AttrStore* attrs, oneop_handle* out) {
    ::oneop::sdk::AttrStore merged;
    Merge(op.oneop_base_attrs(), attrs, &merged);
    call.num_attrs = merged.size();
    call.attrs = merged.data();
    ::oneop::sdk::RunCall(call, out, [&op] { return op.OneopFind(); });
  }

  // The attributes given to the builder, under those of the call.
  static void Merge(const AttrMap& base, const ::oneop::sdk::AttrStore* attrs,
                    ::oneop::sdk::AttrStore* merged) {
    for (int32_t i = 0; attrs != nullptr && i != attrs->size(); ++i) {
      merged->PutRaw(attrs->data()[i]);
    }
    for (size_t i = 0; i != base.size(); ++i) {
      const oneop_attr& attr = base.OneopData()[i];
      if (merged->Find(attr.name) == nullptr) {
        merged->PutRaw(attr);
      }
    }
  }
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_OP_INTERPRETER_UTIL_H_
