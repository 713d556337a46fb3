// GradTrace: while an OpExprGradFunction runs, its tensors are symbols, and its calls are recorded
// as steps of the host's gradient graph.
#ifndef ONEOP_SDK_GRAD_TRACE_H_
#define ONEOP_SDK_GRAD_TRACE_H_

#include "oneflow/core/framework/op_interpreter/op_interpreter_util.h"
#include "oneop/sdk/guard.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

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
    return oneflow::one::Tensor::OneopOwn(NewSymbol(blob, meta, requires_grad));
  }
  // The number of the blob that a tensor stands for.
  int32_t BlobOf(const oneflow::one::Tensor& tensor) const {
    const oneop_handle handle = tensor.oneop_handle_ptr();
    if (!IsOurs(handle)) {
      ThrowText(ONEOP_ERROR_RUNTIME, {"the gradient of op \"", frame_->op_type_name,
                                      "\" returns a tensor that no call of it has made"});
    }
    return Symbol::Of(handle)->blob;
  }

  ONEOP_COLD int32_t Record(const oneop_call* call, oneop_handle* outputs,
                            oneop_status* status) override {
    if (call->device_type != ONEOP_DEVICE_INVALID && call->num_inputs == 0) {
      return Fail(
          status,
          Join({"the gradient of op \"", frame_->op_type_name, "\" calls \"", call->op_type_name,
                "\" without tensors, on a device that it names\n  a gradient serves "
                "calls on every device: start from one of its tensors "
                "(aten::full_like)"}));
    }
    std::vector<oneop_grad_input> inputs;
    for (int32_t i = 0; i != call->num_inputs; ++i) {
      if (call->inputs[i] == nullptr) {
        continue;
      }
      if (!IsOurs(call->inputs[i])) {
        return FailForeign(status, call->op_type_name, call->input_names[i]);
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

  ONEOP_COLD int32_t RecordFunction(const char* name, const oneop_value* args, int32_t num_args,
                                    oneop_result* result, oneop_status* status) override {
    if (sink_->size < sizeof(oneop_grad_sink)) {
      return FailOldHost(status, "calls torch's functions");
    }
    std::vector<oneop_value> values(args, args + num_args);
    std::vector<std::vector<int64_t>> lists(static_cast<size_t>(num_args));
    for (int32_t i = 0; i != num_args; ++i) {
      if (!ToBlobs(&values[i], &lists[i])) {
        return FailForeign(status, name, Digits(i));
      }
    }
    int32_t count = 0;
    if (const int32_t code =
            sink_->add_call(sink_, name, values.data(), num_args, &count, status)) {
      return code;
    }
    oneflow::one::TensorTuple made;
    std::vector<oneop_handle> handles;
    for (int32_t i = 0; i != count; ++i) {
      made.push_back(NewTensor(next_blob_++, nullptr, false));
      handles.push_back(made.back()->oneop_handle_ptr());
    }
    oneop_value value{};
    if (count == 1) {
      value.kind = ONEOP_VALUE_TENSOR;
      value.value.tensor = handles[0];
    } else {
      value.kind = ONEOP_VALUE_TENSORS;
      value.value.list = {handles.data(), count};
    }
    result->set(result, &value);
    return ONEOP_OK;
  }

 private:
  struct Symbol : oneop_symbol {
    GradTrace* trace;
    int32_t blob;
    const oneop_tensor* tensor;  // null until somebody asks
    static Symbol* Of(oneop_handle handle) { return static_cast<Symbol*>(SymbolOf(handle)); }
  };
  bool IsOurs(oneop_handle handle) const {
    return IsSymbol(handle) && Symbol::Of(handle)->trace == this;
  }
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
    symbol->record_function = [](oneop_symbol* self, const char* name, const oneop_value* args,
                                 int32_t num_args, oneop_result* result, oneop_status* status) {
      try {
        return static_cast<Symbol*>(self)->trace->RecordFunction(name, args, num_args, result,
                                                                 status);
      } catch (...) {  // from the result
        return ReportCurrentException(nullptr, status, {nullptr, 0});
      }
    };
    symbol->trace = this;
    symbol->blob = blob;
    symbol->tensor = meta;
    return reinterpret_cast<oneop_handle>(
        reinterpret_cast<uintptr_t>(static_cast<oneop_symbol*>(symbol)) + 1);
  }
  ONEOP_COLD static const oneop_tensor* Meta(oneop_symbol* self, oneop_status* status) {
    auto* symbol = static_cast<Symbol*>(self);
    const GradTrace* trace = symbol->trace;
    if (oneop_reads* reads = trace->frame_->reads) {
      reads->shapes = reads->dtypes = 1;  // so the host keeps this graph for these shapes alone
    }
    if (symbol->tensor == nullptr) {
      if (trace->sink_->size < sizeof(oneop_grad_sink)) {
        trace->FailOldHost(status, "asks for the shape of what a call returns");
        return nullptr;
      }
      symbol->tensor = trace->sink_->describe(trace->sink_, symbol->blob, status);
    }
    return symbol->tensor;
  }

  // Puts numbers of blobs in the place of tensors; false for a tensor that is none of oneop's.
  bool ToBlobs(oneop_value* value, std::vector<int64_t>* list) const {
    if (value->kind == ONEOP_VALUE_TENSOR) {
      if (!IsOurs(value->value.tensor)) {
        return false;
      }
      value->value.i = Symbol::Of(value->value.tensor)->blob;
      value->kind = ONEOP_VALUE_BLOB;
    } else if (value->kind == ONEOP_VALUE_TENSORS) {
      const auto* handles = static_cast<const oneop_handle*>(value->value.list.data);
      for (int64_t i = 0; i != value->value.list.count; ++i) {
        if (handles[i] != nullptr && !IsOurs(handles[i])) {
          return false;
        }
        list->push_back(handles[i] == nullptr ? -1 : Symbol::Of(handles[i])->blob);
      }
      value->value.list.data = list->data();
      value->kind = ONEOP_VALUE_BLOBS;
    }
    return true;
  }

  ONEOP_COLD int32_t FailForeign(oneop_status* status, std::string_view callee,
                                 std::string_view argument) const {
    return Fail(status,
                Join({"the gradient of op \"", frame_->op_type_name, "\" calls \"", callee,
                      "\" with a tensor that exists already, in argument ", argument,
                      "\n  a gradient is made of the op's own tensors and what calls on them "
                      "return\n  make the tensor with such a call (aten::full_like), or give it to "
                      "the op as an input"}));
  }
  ONEOP_COLD int32_t FailOldHost(oneop_status* status, std::string_view act) const {
    return Fail(status,
                Join({"the gradient of op \"", frame_->op_type_name, "\" ", act,
                      ", which this oneop cannot record (plugin ABI 1.3 can)\n  update oneop"}));
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

#endif  // ONEOP_SDK_GRAD_TRACE_H_
