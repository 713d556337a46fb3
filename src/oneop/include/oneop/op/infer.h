// Inference: what the outputs of an op are, and how many operations they take.
#ifndef ONEOP_OP_INFER_H_
#define ONEOP_OP_INFER_H_

#include "oneop/op/axes.h"
#include "oneop/op/call.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// What the function of .infer() sees: the inputs and attributes, and where to put the outputs. That
// of .flops() can ask for the outputs too: they are known by then.
class Infer {
 public:
  explicit Infer(oneop_frame* frame, int side = sdk::kInput) : frame_(frame), side_(side) {}

  bool has(std::string_view name, int32_t index = 0) const {
    return sdk::FindTensor(frame_, name, index, side_) >= 0;
  }
  int32_t count(std::string_view name) const {
    const oneop_arg* arg = sdk::FindArg(frame_, name, side_);
    return arg == nullptr ? 0 : arg->count;
  }
  ::oneflow::Shape shape(std::string_view name, int32_t index = 0) const {
    const oneop_tensor& tensor = Known(name, index);
    return ::oneflow::Shape(tensor.shape, tensor.shape + tensor.ndim);
  }
  int64_t dim(std::string_view name) const { return Known(name, 0).ndim; }
  // Of an axis, counted from the end where it is negative.
  int64_t size(std::string_view name, int64_t axis) const {
    const oneop_tensor& tensor = Known(name, 0);
    const int64_t from_front = axis < 0 ? axis + tensor.ndim : axis;
    if (from_front < 0 || from_front >= tensor.ndim) {
      Refuse({"there is no axis ", sdk::Digits(axis), " in \"", name, "\" of shape ",
              ShapeText(tensor)});
    }
    return tensor.shape[from_front];
  }
  ::oneflow::DataType dtype(std::string_view name) const {
    return static_cast<::oneflow::DataType>(Known(name, 0).dtype);
  }
  template <class T>
  T attr(std::string_view name) const {
    return Attrs(frame_).get<T>(name);
  }
  void check(bool holds, std::string_view otherwise) const {
    if (!holds) {
      Refuse({otherwise});
    }
  }
  // The dtype is that of the first input unless it is named.
  void set(std::string_view name, const ::oneflow::Shape& shape, int32_t index = 0) const {
    oneop_tensor* output = Output(name, index);
    PutOutput(output, shape.ptr(), static_cast<int32_t>(shape.NumAxes()), output->dtype);
  }
  void set(std::string_view name, const ::oneflow::Shape& shape, ::oneflow::DataType dtype,
           int32_t index = 0) const {
    PutOutput(Output(name, index), shape.ptr(), static_cast<int32_t>(shape.NumAxes()), dtype);
  }
  // The dtype is that of a C++ type, as in .kernel<int64_t>.
  template <class T>
  void set(std::string_view name, const ::oneflow::Shape& shape, int32_t index = 0) const {
    set(name, shape, ::oneflow::GetDataType<T>::value, index);
  }
  void set_like(std::string_view name, std::string_view input) const {
    set(name, shape(input), dtype(input));
  }

 private:
  const oneop_tensor& Known(std::string_view name, int32_t index) const {
    return *sdk::TensorAt(frame_, sdk::NeedTensor(frame_, name, index, side_));
  }
  oneop_tensor* Output(std::string_view name, int32_t index) const {
    return sdk::TensorAt(frame_, sdk::NeedTensor(frame_, name, index, sdk::kOutput));
  }
  oneop_frame* frame_;
  int side_;
};

// Inputs that were not given are skipped.
ONEOP_COLD inline void CheckOneShape(const oneop_frame* frame) {
  const oneop_arg* first = nullptr;
  for (int32_t i = 0; i != frame->num_inputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->inputs, i);
    first = first == nullptr && arg->count != 0 ? arg : first;
    for (int32_t k = 0; k != arg->count; ++k) {
      const oneop_tensor& wanted = *sdk::TensorAt(frame, first->first);
      const oneop_tensor& found = *sdk::TensorAt(frame, arg->first + k);
      if (!HaveOneShape(wanted, found)) {
        Refuse({"expected inputs of one shape, found \"", first->name, "\" of ", ShapeText(wanted),
                " and \"", arg->name, "\" of ", ShapeText(found),
                "\n  expand them before the call: torch.broadcast_tensors(", first->name, ", ",
                arg->name, ")"});
      }
    }
  }
}

// The dtypes of a rule are those of arguments, which may be lists or absent.
inline bool Holds(const DtypeRule& rule, const oneop_frame* frame) {
  for (int32_t i = 0; i != frame->num_inputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->inputs, i);
    for (int32_t k = 0; k != arg->count; ++k) {
      if (sdk::TensorAt(frame, arg->first + k)->dtype != rule.inputs[i]) {
        return false;
      }
    }
  }
  return true;
}
ONEOP_COLD inline void PutDtypes(const OpRecord& record, const oneop_frame* frame) {
  for (const DtypeRule* rule = record.dtypes; rule != nullptr; rule = rule->next) {
    const bool holds = Holds(*rule, frame);
    for (int32_t i = 0; holds && i != frame->num_outputs; ++i) {
      const oneop_arg* arg = sdk::ArgAt(frame, frame->outputs, i);
      for (int32_t k = 0; k != arg->count; ++k) {
        sdk::TensorAt(frame, arg->first + k)->dtype = rule->outputs[i];
      }
    }
  }
}

// A dtype that nothing names is that of the first input, which a call may leave out.
ONEOP_COLD inline void CheckDtypes(const oneop_frame* frame) {
  for (int32_t i = 0; frame->num_input_tensors == 0 && i != frame->num_outputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->outputs, i);
    for (int32_t k = 0; k != arg->count; ++k) {
      if (sdk::TensorAt(frame, arg->first + k)->dtype == ::oneflow::kInvalidDataType) {
        Refuse({"no input is given that output \"", arg->name,
                "\" could take its dtype from\n  give one, or name a dtype in .infer: "
                "ctx.set<float>(\"",
                arg->name, "\", shape)"});
      }
    }
  }
}

// The author's function must set every output: what it leaves out would keep the shape that the
// host happened to put there.
ONEOP_COLD inline void RunInfer(const OpRecord& record, oneop_frame* frame) {
  constexpr int32_t kNotSet = -1;
  for (int32_t i = 0; i != frame->num_output_tensors; ++i) {
    sdk::TensorAt(frame, frame->num_input_tensors + i)->ndim = kNotSet;
  }
  Infer context(frame);
  record.infer(context);
  for (int32_t i = 0; i != frame->num_outputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->outputs, i);
    for (int32_t k = 0; k != arg->count; ++k) {
      if (sdk::TensorAt(frame, arg->first + k)->ndim == kNotSet) {
        Refuse({"its .infer function did not set output \"", arg->name, "\", tensor ",
                sdk::Digits(k), "\n  call ctx.set(\"", arg->name, "\", shape, dtype)"});
      }
    }
  }
}

ONEOP_COLD inline int32_t InferOutputs(void* self, oneop_frame* frame, oneop_status* status) {
  const OpRecord& record = *static_cast<OpRecord*>(self);
  try {
    sdk::NoteDescRead(frame);
    if (record.is_elementwise || record.has_one_shape) {
      CheckOneShape(frame);
    }
    if (record.infer) {
      RunInfer(record, frame);
    } else if (record.axes != nullptr) {
      BoundAxes(*record.axes, frame).PutOutputs(sdk::TensorAt(frame, 0)->dtype);
    } else if (frame->num_input_tensors != 0) {
      const oneop_tensor first = *sdk::TensorAt(frame, 0);
      for (int32_t i = 0; i != frame->num_output_tensors; ++i) {
        PutOutput(sdk::TensorAt(frame, frame->num_input_tensors + i), first.shape, first.ndim,
                  first.dtype);
      }
    }
    PutDtypes(record, frame);
    CheckDtypes(frame);
    return ONEOP_OK;
  } catch (...) {
    return sdk::ReportCurrentException(frame, status, {record.place.file, record.place.line});
  }
}

ONEOP_COLD inline int32_t CountOperations(void* self, oneop_frame* frame, double* operations,
                                          oneop_status* status) {
  const OpRecord& record = *static_cast<OpRecord*>(self);
  try {
    Infer context(frame, sdk::kEither);
    *operations = record.flops(context);
    return ONEOP_OK;
  } catch (...) {
    return sdk::ReportCurrentException(frame, status, {record.place.file, record.place.line});
  }
}

// Inputs that are changed in place, and those that `dx = None` gives no gradient.
ONEOP_COLD inline int32_t ModifyInputs(void* self, oneop_frame* frame,
                                       oneop_arg_modifier* modifiers, oneop_status*) {
  const OpRecord& record = *static_cast<OpRecord*>(self);
  for (int32_t i = 0; i != frame->num_inputs; ++i) {
    const oneop_arg* arg = sdk::ArgAt(frame, frame->inputs, i);
    for (int32_t k = 0; k != arg->count; ++k) {
      oneop_arg_modifier* modifier = modifiers + arg->first + k;
      modifier->is_mutable = record.schema->inputs[i].is_mutable ? 1 : modifier->is_mutable;
      modifier->requires_grad = record.has_no_gradient[i] ? 0 : modifier->requires_grad;
    }
  }
  return ONEOP_OK;
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_INFER_H_
