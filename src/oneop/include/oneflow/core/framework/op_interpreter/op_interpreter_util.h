// OpInterpUtil::Dispatch: calls an op on tensors.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_OP_INTERPRETER_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_OP_INTERPRETER_UTIL_H_

#include "oneflow/core/framework/op_builder.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Runs a call, or records it where one of its tensors is a symbol or a gradient is being made.
struct Recorder {
  virtual int32_t Record(const oneop_call* call, oneop_handle* outputs, oneop_status* status) = 0;

 protected:
  ~Recorder() = default;
};
inline thread_local Recorder* recorder = nullptr;

inline void RunCall(const oneop_call& call, oneop_handle* outputs) {
  HostStatus status;
  for (int32_t i = 0; i != call.num_inputs; ++i) {
    if (IsSymbol(call.inputs[i])) {
      oneop_symbol* symbol = SymbolOf(call.inputs[i]);
      return status.Check(symbol->record(symbol, &call, outputs, &status.status));
    }
  }
  if (recorder != nullptr) {
    return status.Check(recorder->Record(&call, outputs, &status.status));
  }
  status.Check(Host()->dispatch(&call, outputs, &status.status));
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace one {

// Attributes of a call. Upstream adds device, placement and state; here these are torch's business.
struct OpExprInterpContext {
  OpExprInterpContext(const MutableAttrMap& map) : attrs(&map) {}  // NOLINT: implicit, as upstream
  const MutableAttrMap* attrs;
};

class OpInterpUtil {
 public:
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, const TensorTuple& inputs) {
    return Run<T>(op, inputs, nullptr);
  }
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, const TensorTuple& inputs,
                           const MutableAttrMap& attrs) {
    return Run<T>(op, inputs, &attrs.OneopStore());
  }
  template <class T>
  static Maybe<T> Dispatch(const OpExpr& op, const TensorTuple& inputs,
                           const OpExprInterpContext& context) {
    return Run<T>(op, inputs, &context.attrs->OneopStore());
  }

 private:
  static constexpr size_t kInline = 8;

  template <class T>
  static Maybe<T> Run(const OpExpr& op, const TensorTuple& inputs,
                      const ::oneop::sdk::AttrStore* attrs) {
    if (ONEOP_LIKELY(inputs.size() <= kInline && op.oneop_outputs().size() <= kInline)) {
      oneop_handle handles[2 * kInline];
      return RunWith<T>(op, inputs, attrs, handles, handles + kInline);
    }
    std::vector<oneop_handle> handles(inputs.size() + op.oneop_outputs().size());
    return RunWith<T>(op, inputs, attrs, handles.data(), handles.data() + inputs.size());
  }

  template <class T>
  static Maybe<T> RunWith(const OpExpr& op, const TensorTuple& inputs,
                          const ::oneop::sdk::AttrStore* attrs, oneop_handle* in,
                          oneop_handle* out) {
    if (!ONEOP_LIKELY(inputs.size() == op.oneop_inputs().size())) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "op \"" << op.op_type_name() << "\" was built with " << op.oneop_inputs().size()
             << " inputs and is called with " << inputs.size();
    }
    for (size_t i = 0; i != inputs.size(); ++i) {
      in[i] = inputs[i] == nullptr ? nullptr : inputs[i]->oneop_handle_ptr();
    }
    oneop_call call{};
    call.size = sizeof call;
    call.num_inputs = static_cast<int32_t>(inputs.size());
    call.num_outputs = static_cast<int32_t>(op.oneop_outputs().size());
    call.op_type_name = op.op_type_name().c_str();
    call.input_names = op.oneop_inputs().data();
    call.inputs = in;
    call.output_names = op.oneop_outputs().data();
    ::oneop::sdk::AttrStore merged;
    attrs = Merge(op, attrs, &merged);
    call.num_attrs = attrs == nullptr ? 0 : attrs->size();
    call.attrs = attrs == nullptr ? nullptr : attrs->data();
    try {
      call.op = IsTraced(in, call.num_inputs) ? nullptr : op.OneopFind();
      ::oneop::sdk::RunCall(call, out);
    } catch (const Exception& exception) {
      return exception.error();
    }
    if constexpr (std::is_same_v<T, TensorTuple>) {
      auto tuple = std::make_shared<TensorTuple>();
      for (int32_t i = 0; i != call.num_outputs; ++i) {
        tuple->push_back(std::make_shared<Tensor>(out[i]));
      }
      return Maybe<T>(tuple);
    } else {
      for (int32_t i = 1; i < call.num_outputs; ++i) {
        ::oneop::sdk::Release(out[i]);
      }
      return Maybe<T>(std::make_shared<Tensor>(out[0]));
    }
  }

  static bool IsTraced(const oneop_handle* in, int32_t count) {
    bool traced = ::oneop::sdk::recorder != nullptr;
    for (int32_t i = 0; i != count; ++i) {
      traced = traced || ::oneop::sdk::IsSymbol(in[i]);
    }
    return traced;
  }
  // The attributes given to the builder, under those of the call.
  static const ::oneop::sdk::AttrStore* Merge(const OpExpr& op,
                                              const ::oneop::sdk::AttrStore* attrs,
                                              ::oneop::sdk::AttrStore* merged) {
    const AttrMap& base = op.oneop_base_attrs();
    if (ONEOP_LIKELY(base.size() == 0)) {
      return attrs;
    }
    for (int32_t i = 0; attrs != nullptr && i != attrs->size(); ++i) {
      merged->PutRaw(attrs->data()[i]);
    }
    for (size_t i = 0; i != base.size(); ++i) {
      const oneop_attr& attr = base.OneopData()[i];
      if (merged->Find(attr.name) == nullptr) {
        merged->PutRaw(attr);
      }
    }
    return merged;
  }
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_OP_INTERPRETER_UTIL_H_
