// REGISTER_USER_OP.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_REGISTRY_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_REGISTRY_H_

#include "oneflow/core/framework/compute_complexity_fn_context.h"
#include "oneflow/core/framework/infer_util.h"
#include "oneflow/core/framework/sbp_context.h"
#include "oneop/sdk/function.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

// What the author sets for an input or output: it writes straight into the host's struct.
class ArgModifier {
 public:
  explicit ArgModifier(oneop_arg_modifier* out) : out_(out) {}
  void set_is_mutable(bool value) { out_->is_mutable = value; }
  void set_requires_grad(bool value) { out_->requires_grad = value; }
  void set_header_infered_before_compute(bool value) {
    out_->header_inferred_before_compute = value;
  }
  void set_use_header_only(bool) {}
  bool is_mutable() const { return out_->is_mutable != 0; }
  bool requires_grad() const { return out_->requires_grad != 0; }
  ArgModifier* operator->() { return this; }

  ArgModifier* next = nullptr;

 private:
  oneop_arg_modifier* out_;
};
using InputArgModifier = ArgModifier;
using OutputArgModifier = ArgModifier;

// fn(name, index) gives the modifier; it is null where the argument was not given.
template <int kSide>
class GetArgModifier {
 public:
  GetArgModifier(const oneop_frame* frame, oneop_arg_modifier* modifiers, ArgModifier** made)
      : frame_(frame), modifiers_(modifiers), made_(made) {}
  ArgModifier* operator()(std::string_view name, int32_t index) const {
    const oneop_arg* arg = ::oneop::sdk::FindArg(frame_, name, kSide);
    if (arg != nullptr && arg->count == 0) {
      return nullptr;
    }
    const int32_t base = kSide == ::oneop::sdk::kOutput ? frame_->num_input_tensors : 0;
    const int32_t number = ::oneop::sdk::NeedTensor(frame_, name, index, kSide) - base;
    ArgModifier* modifier = new ArgModifier(modifiers_ + number);
    modifier->next = *made_;
    *made_ = modifier;
    return modifier;
  }

 private:
  const oneop_frame* frame_;
  oneop_arg_modifier* modifiers_;
  ArgModifier** made_;
};
using GetInputArgModifier = GetArgModifier<::oneop::sdk::kInput>;
using GetOutputArgModifier = GetArgModifier<::oneop::sdk::kOutput>;

}  // namespace user_op

// Op classes of .td files name them so.
using user_op::GetInputArgModifier;
using user_op::GetOutputArgModifier;
using user_op::InputArgModifier;
using user_op::OutputArgModifier;

namespace user_op {

class OpRegistry {
 public:
  OpRegistry(std::string_view name, const char* file, int32_t line) {
    def_.size = sizeof def_;
    def_.name = ::oneop::sdk::library.arena.CopyText(name);
    def_.file = file;
    def_.line = line;
    def_.self = this;
    ::oneop::sdk::library.ops.Add(&def_);
  }

  // --- Arguments ---
  OpRegistry& Input(std::string_view name, int32_t num = 1) { return In(name, num, 0, 0); }
  OpRegistry& InputWithMinimum(std::string_view name, int32_t min) { return In(name, min, 1, 0); }
  OpRegistry& OptionalInput(std::string_view name, int32_t num = 1) { return In(name, num, 0, 1); }
  OpRegistry& OptionalInputWithMinimum(std::string_view name, int32_t min) {
    return In(name, min, 1, 1);
  }
  OpRegistry& OptionalInputWithMininum(std::string_view name, int32_t min) {  // as seed 0 spells it
    return In(name, min, 1, 1);
  }
  OpRegistry& Output(std::string_view name, int32_t num = 1) { return Out(name, num, 0, 0); }
  OpRegistry& OutputWithMinimum(std::string_view name, int32_t min) { return Out(name, min, 1, 0); }
  OpRegistry& OptionalOutput(std::string_view name, int32_t num = 1) {
    return Out(name, num, 0, 1);
  }
  OpRegistry& OptionalOutputWithMinimum(std::string_view name, int32_t min) {
    return Out(name, min, 1, 1);
  }
  OpRegistry& OptionalOutputWithMininum(std::string_view name, int32_t min) {
    return Out(name, min, 1, 1);
  }

  // --- Attributes. Without a value the attribute must be given; Attr<T>("a") has the value T().
  // That of Attr<std::optional<int64_t>>("a") is None. ---
  OpRegistry& Attr(std::string_view name, UserOpAttrType type) {
    NewAttr(name, type);
    return *this;
  }
  template <class T>
  OpRegistry& Attr(std::string_view name, UserOpAttrType type, const T& value) {
    SetDefault(NewAttr(name, type), value);
    return *this;
  }
  template <class T>
  OpRegistry& Attr(std::string_view name, const T& value) {
    using Kept = ::oneop::sdk::AttrCppType<T>;
    oneop_attr_def* attr = NewAttr(name, ::oneop::sdk::AttrTraits<Kept>::kType);
    attr->flags = ::oneop::sdk::IsOptional<Kept>::value ? ONEOP_ATTRDEF_OPTIONAL : 0;
    SetDefault(attr, value);
    return *this;
  }
  template <class T>
  OpRegistry& Attr(std::string_view name) {
    return Attr<T>(name, T());
  }

  // --- Flags ---
  // What Python shows as the op's documentation. The text must stay.
  OpRegistry& OneopDoc(const char* text) {
    def_.doc = text;
    return *this;
  }
  OpRegistry& SupportCpuOnly() { return Flag(ONEOP_OP_CPU_ONLY); }
  OpRegistry& NoGrad() { return Flag(ONEOP_OP_NO_GRAD); }
  OpRegistry& SupportNonContiguous() { return Flag(ONEOP_OP_NON_CONTIGUOUS); }
  OpRegistry& Random() { return Flag(ONEOP_OP_RANDOM); }
  OpRegistry& SideEffect() { return Flag(ONEOP_OP_SIDE_EFFECT); }
  OpRegistry& SetOutputBufferNum(int32_t) { return *this; }
  OpRegistry& SetAreaId(int64_t) { return *this; }

  // --- Functions. The defaults let the name of a function template stand for a function, as in
  // SetTensorDescInferFn(TensorDescInferFnUtil::Unchanged).
  template <class F = Maybe<void> (*)(InferContext*)>
  OpRegistry& SetTensorDescInferFn(const F& fn) {
    return SetLogicalTensorDescInferFn(fn);
  }
  template <class F = Maybe<void> (*)(InferContext*)>
  OpRegistry& SetShapeInferFn(const F& fn) {  // 2019
    return SetLogicalTensorDescInferFn(fn);
  }
  template <class F = Maybe<void> (*)(InferContext*)>
  OpRegistry& SetLogicalTensorDescInferFn(const F& fn) {
    infer_logical_ = fn;
    def_.infer_logical = &Infer<&OpRegistry::infer_logical_>;
    return *this;
  }
  template <class F = Maybe<void> (*)(InferContext*)>
  OpRegistry& SetPhysicalTensorDescInferFn(const F& fn) {
    infer_physical_ = fn;
    def_.infer_physical = &Infer<&OpRegistry::infer_physical_>;
    return *this;
  }
  template <class F = Maybe<void> (*)(InferContext*)>
  OpRegistry& SetDataTypeInferFn(const F& fn) {
    infer_dtype_ = fn;
    def_.infer_dtype = &Infer<&OpRegistry::infer_dtype_>;
    return *this;
  }
  template <class F>
  OpRegistry& SetCheckAttrFn(const F& fn) {
    check_attrs_ = fn;
    def_.check_attrs = &CheckAttrs<>;
    return *this;
  }
  template <class F = Maybe<void> (*)(SbpContext*)>
  OpRegistry& SetGetSbpFn(const F& fn) {
    get_sbp_ = fn;
    def_.get_sbp = &GetSbp<>;
    return *this;
  }
  template <class F>
  OpRegistry& SetParallelDistributionInferFn(const F& fn) {  // as 0.4 calls it
    return SetNdSbpInferFn(fn);
  }
  template <class F>
  OpRegistry& SetNdSbpInferFn(const F& fn) {
    infer_nd_sbp_ = fn;
    def_.infer_nd_sbp = &InferNdSbp<>;
    return *this;
  }
  template <class F = Maybe<double> (*)(ComputeComplexityFnContext*)>
  OpRegistry& SetComputeComplexityFn(const F& fn) {
    count_operations_ = fn;
    def_.count_operations = &CountOperations<>;
    return *this;
  }
  template <class F>
  OpRegistry& SetInputArgModifyFn(const F& fn) {
    modify_inputs_ = fn;
    def_.modify_inputs = &Modify<GetInputArgModifier, &OpRegistry::modify_inputs_>;
    return *this;
  }
  template <class F>
  OpRegistry& SetOutputArgModifyFn(const F& fn) {
    modify_outputs_ = fn;
    def_.modify_outputs = &Modify<GetOutputArgModifier, &OpRegistry::modify_outputs_>;
    return *this;
  }

  template <class F = Maybe<void> (*)(BatchAxisContext*)>
  OpRegistry& SetBatchAxisInferFn(const F& fn) {  // 2020
    infer_batch_axes_ = fn;
    def_.infer_batch_axes = &InferBatchAxes<>;
    return *this;
  }

  // Accepted and not used: devices, streams and time shapes are torch's or nobody's business here.
#define ONEOP_IGNORED(Setter)    \
  template <class F>             \
  OpRegistry& Setter(const F&) { \
    return *this;                \
  }
  ONEOP_IGNORED(SetSbpSignatureInferFn)
  ONEOP_IGNORED(SetDeviceAndStreamInferFn)
  ONEOP_IGNORED(SetDeviceInferFn)
  ONEOP_IGNORED(SetOutputBlobTimeShapeInferFn)
  ONEOP_IGNORED(SetGetNdSbpSignatureListFn)
  ONEOP_IGNORED(SetEnumerateNdSbpSignaturesFn)
  ONEOP_IGNORED(SetDumpNdSbpSignatureForOpConfFn)
#undef ONEOP_IGNORED

 private:
  using InferFn = ::oneop::sdk::KeptFn<Maybe<void>(InferContext*)>;
  template <class Get>
  using ModifyFn = ::oneop::sdk::KeptFn<Maybe<void>(const Get&, const UserOpConfWrapper&)>;
  using Place = ::oneop::sdk::Place;

  ONEOP_COLD OpRegistry& In(std::string_view name, int32_t count, int32_t is_minimum,
                            int32_t is_optional) {
    inputs_.Add(NewArg(name, count, is_minimum, is_optional));
    def_.num_inputs = inputs_.count;
    def_.inputs = reinterpret_cast<const oneop_arg_def* const*>(inputs_.data);
    return *this;
  }
  ONEOP_COLD OpRegistry& Out(std::string_view name, int32_t count, int32_t is_minimum,
                             int32_t is_optional) {
    outputs_.Add(NewArg(name, count, is_minimum, is_optional));
    def_.num_outputs = outputs_.count;
    def_.outputs = reinterpret_cast<const oneop_arg_def* const*>(outputs_.data);
    return *this;
  }
  static const oneop_arg_def* NewArg(std::string_view name, int32_t count, int32_t is_minimum,
                                     int32_t is_optional) {
    return new oneop_arg_def{sizeof(oneop_arg_def),
                             count,
                             is_minimum,
                             is_optional,
                             ::oneop::sdk::library.arena.CopyText(name),
                             0,
                             0,
                             0,
                             0};
  }
  ONEOP_COLD oneop_attr_def* NewAttr(std::string_view name, UserOpAttrType type) {
    oneop_attr_def* attr = new oneop_attr_def{};
    attr->size = sizeof *attr;
    attr->type = type;
    attr->name = ::oneop::sdk::library.arena.CopyText(name);
    attrs_.Add(attr);
    def_.num_attrs = attrs_.count;
    def_.attrs = reinterpret_cast<const oneop_attr_def* const*>(attrs_.data);
    return attr;
  }
  template <class T>
  static void SetDefault(oneop_attr_def* attr, const T& value) {
    attr->has_default = 1;
    ::oneop::sdk::PutAttr(&attr->default_value, attr->name, value, &::oneop::sdk::library.arena);
    ::oneop::sdk::ConvertNumber(&attr->default_value, static_cast<UserOpAttrType>(attr->type));
  }
  OpRegistry& Flag(uint32_t flag) {
    def_.flags |= flag;
    return *this;
  }
  Place place() const { return {def_.file, def_.line}; }

  template <InferFn OpRegistry::* kFn>
  static int32_t Infer(void* self, oneop_frame* frame, oneop_status* status) {
    return RunInfer(static_cast<OpRegistry*>(self), static_cast<OpRegistry*>(self)->*kFn, frame,
                    status);
  }
  ONEOP_COLD static int32_t RunInfer(OpRegistry* me, const InferFn& fn, oneop_frame* frame,
                                     oneop_status* status) {
    try {
      InferContext ctx(frame);
      ::oneop::sdk::ThrowIfError(fn(&ctx));
      ctx.OneopStoreOutputs();
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  // Templates, so that a file which sets no such function does not compile them.
  template <class = void>
  ONEOP_COLD static int32_t CheckAttrs(void* self, oneop_frame* frame, oneop_status* status) {
    OpRegistry* me = static_cast<OpRegistry*>(self);
    try {
      ::oneop::sdk::ThrowIfError(
          me->check_attrs_(UserOpDefWrapper(&me->def_), UserOpConfWrapper(frame)));
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  template <class = void>
  ONEOP_COLD static int32_t GetSbp(void* self, oneop_frame* frame, oneop_sbp_sink* sink,
                                   oneop_status* status) {
    OpRegistry* me = static_cast<OpRegistry*>(self);
    try {
      SbpContext ctx(frame, sink, status);
      ::oneop::sdk::ThrowIfError(me->get_sbp_(&ctx));
      return ONEOP_OK;
    } catch (int32_t reported) {  // by the host's own function
      return reported;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  template <class = void>
  ONEOP_COLD static int32_t InferNdSbp(void* self, oneop_frame* frame, oneop_sbp_sink* sink,
                                       oneop_status* status) {
    OpRegistry* me = static_cast<OpRegistry*>(self);
    try {
      InferNdSbpFnContext ctx(frame);
      ::oneop::sdk::ThrowIfError(me->infer_nd_sbp_(&ctx));
      ctx.OneopSend(sink, status);
      return ONEOP_OK;
    } catch (int32_t reported) {  // by the host's own function
      return reported;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  template <class = void>
  ONEOP_COLD static int32_t CountOperations(void* self, oneop_frame* frame, double* operations,
                                            oneop_status* status) {
    OpRegistry* me = static_cast<OpRegistry*>(self);
    try {
      ComputeComplexityFnContext ctx(frame);
      const Maybe<double> count = me->count_operations_(&ctx);
      if (!count.IsOk()) {
        ::oneop::sdk::Throw(count.error());
      }
      *operations = count.OneopTake();
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  template <class Ctx = BatchAxisContext>
  ONEOP_COLD static int32_t InferBatchAxes(void* self, oneop_frame* frame, int64_t* axes,
                                           oneop_status* status) {
    OpRegistry* me = static_cast<OpRegistry*>(self);
    try {
      Ctx ctx(frame);
      ctx.OneopRead(ctx.inputs(), axes);
      ::oneop::sdk::ThrowIfError(me->infer_batch_axes_(&ctx));
      ctx.OneopWrite(ctx.outputs(), axes);
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  template <class Get, ModifyFn<Get> OpRegistry::* kFn>
  ONEOP_COLD static int32_t Modify(void* self, oneop_frame* frame, oneop_arg_modifier* modifiers,
                                   oneop_status* status) {
    OpRegistry* me = static_cast<OpRegistry*>(self);
    ArgModifier* made = nullptr;
    int32_t code = ONEOP_OK;
    try {
      ::oneop::sdk::ThrowIfError(
          (me->*kFn)(Get(frame, modifiers, &made), UserOpConfWrapper(frame)));
    } catch (...) {
      code = ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
    while (made != nullptr) {
      ArgModifier* next = made->next;
      delete made;
      made = next;
    }
    return code;
  }

  oneop_op_def def_{};
  ::oneop::sdk::PointerList inputs_{};
  ::oneop::sdk::PointerList outputs_{};
  ::oneop::sdk::PointerList attrs_{};
  InferFn infer_logical_;
  InferFn infer_physical_;
  InferFn infer_dtype_;
  ::oneop::sdk::KeptFn<Maybe<void>(const UserOpDefWrapper&, const UserOpConfWrapper&)> check_attrs_;
  ::oneop::sdk::KeptFn<Maybe<void>(SbpContext*)> get_sbp_;
  ::oneop::sdk::KeptFn<Maybe<void>(InferNdSbpFnContext*)> infer_nd_sbp_;
  ::oneop::sdk::KeptFn<Maybe<double>(ComputeComplexityFnContext*)> count_operations_;
  ::oneop::sdk::KeptFn<Maybe<void>(BatchAxisContext*)> infer_batch_axes_;
  ModifyFn<GetInputArgModifier> modify_inputs_;
  ModifyFn<GetOutputArgModifier> modify_outputs_;
};

struct CheckAttrFnUtil {
  static Maybe<void> NoCheck(const UserOpDefWrapper&, const UserOpConfWrapper&) {
    return Maybe<void>::Ok();
  }
};

ONEOP_COLD inline const ::oneop::sdk::HostInput& AddHostInput(std::string_view op,
                                                              std::string_view arg,
                                                              const char* file, int32_t line) {
  ::oneop::sdk::Library& library = ::oneop::sdk::library;
  library.host_inputs = new ::oneop::sdk::HostInput{
      library.arena.CopyText(op), library.arena.CopyText(arg), file, line, library.host_inputs};
  return *library.host_inputs;
}

ONEOP_COLD inline OpRegistry& NewOp(std::string_view name, const char* file, int32_t line) {
  return *new OpRegistry(name, file, line);  // lives as long as the library
}

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#define REGISTER_USER_OP(name)                                            \
  static const ::oneop::sdk::Registered ONEOP_CAT(oneop_op_, __COUNTER__) \
      __attribute__((unused)) = ::oneflow::user_op::NewOp(name, __FILE__, __LINE__)
// Kernels of every device read this input in host memory. For ops of the same library; all tensors
// of the argument, whatever the index.
#define REGISTER_OP_HOST_MEMORY_INPUT(op_type, arg, index)                  \
  static const ::oneop::sdk::Registered ONEOP_CAT(oneop_host_, __COUNTER__) \
      __attribute__((unused)) = ::oneflow::user_op::AddHostInput(op_type, arg, __FILE__, __LINE__)
#define REGISTER_CPU_ONLY_USER_OP(name) REGISTER_USER_OP(name).SupportCpuOnly()
#define REGISTER_NO_GRAD_USER_OP(name) REGISTER_USER_OP(name).NoGrad()
#define REGISTER_NO_GRAD_CPU_ONLY_USER_OP(name) REGISTER_USER_OP(name).NoGrad().SupportCpuOnly()
#define REGISTER_CPU_ONLY_NO_GRAD_USER_OP REGISTER_NO_GRAD_CPU_ONLY_USER_OP

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_REGISTRY_H_
