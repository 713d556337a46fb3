// InferContext, in which an op says what its outputs are.
#ifndef ONEFLOW_CORE_FRAMEWORK_INFER_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_INFER_UTIL_H_

#include "oneop/sdk/context.h"
#include "oneop/sdk/guard.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

class InferContext : public ::oneop::sdk::Context {
 public:
  // Loads every desc at once, because authors keep pointers to several of them.
  ONEOP_COLD explicit InferContext(oneop_frame* frame)
      : Context(frame), count_(frame->num_input_tensors + frame->num_output_tensors) {
    descs_ = static_cast<TensorDesc*>(::operator new(sizeof(TensorDesc) * (count_ + 1)));
    for (int32_t i = 0; i != count_; ++i) {
      new (descs_ + i) TensorDesc(*::oneop::sdk::TensorAt(frame, i));
    }
  }
  ~InferContext() { ::operator delete(descs_); }  // a TensorDesc owns nothing

  // After the author's function: the outputs go back to the host.
  ONEOP_COLD void OneopStoreOutputs() const {
    for (int32_t i = frame_->num_input_tensors; i != count_; ++i) {
      descs_[i].OneopStore(::oneop::sdk::TensorAt(frame_, i));
    }
  }

  using ShapeRef = ::oneop::sdk::ShapeRef;
  using StrideRef = ::oneop::sdk::StrideRef;
  using DescRef = ::oneop::sdk::TensorDescRef;
  template <class T>
  using Ref = ::oneop::sdk::Ref<T>;

  // --- 2020: pointers to everything. 2022: pointers to outputs. Now: references, and setters. ---
  TensorDesc* TensorDesc4ArgNameAndIndex(std::string_view n, int32_t i) const { return &Any(n, i); }
  ShapeRef Shape4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return ShapeRef(Any(n, i).mut_shape());
  }
  Ref<DataType> Dtype4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Ref<DataType>(Any(n, i).mut_data_type());
  }
  Ref<bool> IsDynamic4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Ref<bool>(Any(n, i).mut_is_dynamic());
  }
  Ref<bool> IsTensorList4ArgNameAndIndex(std::string_view n, int32_t i) const {
    Any(n, i);
    is_tensor_list_ = false;
    return Ref<bool>(&is_tensor_list_);
  }
  const Stride& Stride4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Any(n, i).stride();
  }
  MemoryFormat MemoryFormat4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Any(n, i).memory_format();
  }

#if ONEOP_GENERATION >= 2022  // `const auto& desc`, and then its address
  const TensorDesc& InputTensorDesc(std::string_view n, int32_t i) const { return Input(n, i); }
#else
  DescRef InputTensorDesc(std::string_view n, int32_t i) const { return DescRef(&Input(n, i)); }
#endif
  const Shape& InputShape(std::string_view n, int32_t i) const { return Input(n, i).shape(); }
  const Stride& InputStride(std::string_view n, int32_t i) const { return Input(n, i).stride(); }
  DataType InputDType(std::string_view n, int32_t i) const { return Input(n, i).data_type(); }
  bool InputIsDynamic(std::string_view n, int32_t i) const { return Input(n, i).is_dynamic(); }
  MemoryFormat InputMemoryFormat(std::string_view n, int32_t i) const {
    return Input(n, i).memory_format();
  }

#if ONEOP_GENERATION == 2022
  TensorDesc* OutputTensorDesc(std::string_view n, int32_t i) const { return &Output(n, i); }
#else
  DescRef OutputTensorDesc(std::string_view n, int32_t i) const { return DescRef(&Output(n, i)); }
#endif
  TensorDesc* MutOutputTensorDesc(std::string_view n, int32_t i) const { return &Output(n, i); }
  ShapeRef OutputShape(std::string_view n, int32_t i) const {
    return ShapeRef(Output(n, i).mut_shape());
  }
  Shape* MutOutputShape(std::string_view n, int32_t i) const { return Output(n, i).mut_shape(); }
  // Reading a stride must not count as setting it: the proxy tells the two apart.
  ::oneop::sdk::OutputStrideRef OutputStride(std::string_view n, int32_t i) const {
    return ::oneop::sdk::OutputStrideRef(&Output(n, i));
  }
  Stride* MutOutputStride(std::string_view n, int32_t i) const { return Output(n, i).mut_stride(); }
  Ref<DataType> OutputDType(std::string_view n, int32_t i) const {
    return Ref<DataType>(Output(n, i).mut_data_type());
  }
  DataType* MutOutputDType(std::string_view n, int32_t i) const {
    return Output(n, i).mut_data_type();
  }
  Ref<bool> OutputIsDynamic(std::string_view n, int32_t i) const {
    return Ref<bool>(Output(n, i).mut_is_dynamic());
  }
  bool* MutOutputIsDynamic(std::string_view n, int32_t i) const {
    return Output(n, i).mut_is_dynamic();
  }
  MemoryFormat OutputMemoryFormat(std::string_view n, int32_t i) const {
    return Output(n, i).memory_format();
  }

  void SetOutputShape(std::string_view n, int32_t i, const Shape& s) const {
    Output(n, i).set_shape(s);
  }
  void SetShape4ArgNameAndIndex(std::string_view n, int32_t i, const Shape& s) const {
    Any(n, i).set_shape(s);
  }
  void SetOutputStride(std::string_view n, int32_t i, const Stride& s) const {
    Output(n, i).set_stride(s);
  }
  void SetStride4ArgNameAndIndex(std::string_view n, int32_t i, const Stride& s) const {
    Any(n, i).set_stride(s);
  }
  void SetOutputDType(std::string_view n, int32_t i, DataType t) const {
    Output(n, i).set_data_type(t);
  }
  void SetDtype4ArgNameAndIndex(std::string_view n, int32_t i, DataType t) const {
    Any(n, i).set_data_type(t);
  }
  void SetOutputIsDynamic(std::string_view n, int32_t i, bool d) const {
    Output(n, i).set_is_dynamic(d);
  }
  void SetIsDynamic4ArgNameAndIndex(std::string_view n, int32_t i, bool d) const {
    Any(n, i).set_is_dynamic(d);
  }
  void SetOutputMemoryFormat(std::string_view n, int32_t i, MemoryFormat f) const {
    Output(n, i).set_memory_format(f);
  }
  void SetMemoryFormat4ArgNameAndIndex(std::string_view n, int32_t i, MemoryFormat f) const {
    Any(n, i).set_memory_format(f);
  }

  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return frame_->logical_tensors == nullptr ? &Any(n, i) : FindLogicalDesc(n, i);
  }

 private:
  ONEOP_COLD TensorDesc& Any(std::string_view name, int32_t index) const {
    ::oneop::sdk::NoteDescRead(frame_);
    return descs_[::oneop::sdk::NeedTensor(frame_, name, index, ::oneop::sdk::kEither)];
  }
  ONEOP_COLD TensorDesc& Input(std::string_view name, int32_t index) const {
    ::oneop::sdk::NoteDescRead(frame_);
    return descs_[::oneop::sdk::NeedTensor(frame_, name, index, ::oneop::sdk::kInput)];
  }
  ONEOP_COLD TensorDesc& Output(std::string_view name, int32_t index) const {
    return descs_[::oneop::sdk::NeedTensor(frame_, name, index, ::oneop::sdk::kOutput)];
  }

  int32_t count_;
  mutable bool is_tensor_list_ = false;
  TensorDesc* descs_;
};

// --- Ready-made functions ---

// Ready-made functions are for ops whose inputs are alike: a kernel of such an op goes by the first
// input, and would read beyond a smaller one.
struct InputsAlike {
  // What is wrong with the inputs; no error where they are alike.
  template <class Ctx>
  ONEOP_COLD static Error Check(Ctx* ctx, const char* function, bool shapes, bool dtypes) {
    const auto& inputs = ctx->inputs();
    if (inputs.empty()) {
      return Refuse(function) << "it has no input that its outputs could be like; set "
                                 "shapes and data types in an inference function of the op";
    }
    const TensorDesc& first = *ctx->TensorDesc4ArgNameAndIndex(inputs[0].first, inputs[0].second);
    for (const auto& input : inputs) {
      const TensorDesc& desc = *ctx->TensorDesc4ArgNameAndIndex(input.first, input.second);
      if (shapes && !(desc.shape() == first.shape())) {
        return Refuse(function) << "all inputs must have the same shape; " << Name(inputs[0])
                                << " is " << first.shape() << ", " << Name(input) << " is "
                                << desc.shape();
      }
      if (dtypes && desc.data_type() != first.data_type()) {
        return Refuse(function) << Error::TypeError() << "all inputs must have the same data type; "
                                << Name(inputs[0]) << " holds " << first.data_type() << ", "
                                << Name(input) << " holds " << desc.data_type();
      }
    }
    return Error();
  }
  static Error Refuse(const char* function) {
    return Error(ONEOP_ERROR_RUNTIME, nullptr, 0) << function << ": ";
  }
  // "dy", or "in" 2 of an argument with several tensors
  template <class Arg>
  static std::string Name(const Arg& arg) {
    std::string text("\"");
    text.append(arg.first).append("\"");
    if (arg.second != 0) {
      ::oneop::sdk::AppendInt(&text.append(" "), arg.second);
    }
    return text;
  }
};

struct TensorDescInferFnUtil {
  // Every output is like the inputs, which have one shape. OneFlow of 2020 wants one data type of
  // them too; later the data type is UnchangedDataType's business.
  template <class Ctx>
  static Maybe<void> Unchanged(Ctx* ctx) {
    Error error =
        InputsAlike::Check(ctx, "TensorDescInferFnUtil::Unchanged", true, ONEOP_GENERATION == 2020);
    return error.ok() ? OneopLikeFirstInput(ctx) : Maybe<void>(error);
  }
  template <class Ctx>
  static Maybe<void> UnchangedDataType(Ctx* ctx) {
    Error error = InputsAlike::Check(ctx, "TensorDescInferFnUtil::UnchangedDataType", false, true);
    if (!error.ok()) {
      return error;
    }
    const auto& first = ctx->inputs().at(0);
    for (const auto& out : ctx->outputs()) {
      ctx->SetOutputDType(out.first, out.second, ctx->InputDType(first.first, first.second));
    }
    return Maybe<void>::Ok();
  }
  // Every output is like the first input, whatever the others are.
  template <class Ctx>
  static Maybe<void> OneopLikeFirstInput(Ctx* ctx) {
    Error error = InputsAlike::Check(ctx, "like the first input", false, false);
    if (!error.ok()) {
      return error;
    }
    const auto& first = ctx->inputs().at(0);
    for (const auto& out : ctx->outputs()) {
      *ctx->MutOutputTensorDesc(out.first, out.second) =
          ctx->InputTensorDesc(first.first, first.second);
    }
    return Maybe<void>::Ok();
  }
  // Output i is like input i.
  template <class Ctx>
  static Maybe<void> InOutCorrespond(Ctx* ctx) {
    if (ctx->inputs().size() != ctx->outputs().size()) {
      return InputsAlike::Refuse("TensorDescInferFnUtil::InOutCorrespond")
             << "output i is like input i, and there are " << ctx->inputs().size() << " inputs and "
             << ctx->outputs().size() << " outputs";
    }
    for (size_t i = 0; i != ctx->inputs().size(); ++i) {
      const auto& in = ctx->inputs()[i];
      const auto& out = ctx->outputs()[i];
      *ctx->MutOutputTensorDesc(out.first, out.second) = ctx->InputTensorDesc(in.first, in.second);
    }
    return Maybe<void>::Ok();
  }
};

struct TmpSizeInferFnUtil {
  static size_t ZeroTmpSize(InferContext*) { return 0; }
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_INFER_UTIL_H_
