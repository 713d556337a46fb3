// OP("...") and the chain of calls that follows it.
#ifndef ONEOP_OP_BUILDER_H_
#define ONEOP_OP_BUILDER_H_

#include "oneop/op/elementwise.h"
#include "oneop/op/extension.h"
#include "oneop/op/gradient_text.h"
#include "oneop/op/infer.h"
#include "oneop/op/plan.h"
#include "oneop/op/rows.h"
#include "oneop/op/sbp.h"
#include "oneop/op/typed_kernel.h"
#if defined(__CUDACC__)
#include "oneop/op/cuda/elementwise.cuh"
#include "oneop/op/cuda/rows.cuh"
#endif

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// What can be said of the chain of calls once all of it is known, in whatever order it was written.
ONEOP_COLD inline void CheckForms(const OpRecord& op) {
  const bool is_strided = (op.def.flags & ONEOP_OP_NON_CONTIGUOUS) != 0;
  if (is_strided && (op.is_elementwise || op.is_rows)) {
    op.Mistake({".strided() is for .kernel: .", op.is_elementwise ? "elementwise" : "rows",
                " goes through contiguous memory\n  leave out .strided(): inputs are then copied "
                "where they need to be"});
  }
  for (int32_t i = 0; i < op.def.num_outputs; ++i) {
    if (op.def.outputs[i]->dynamic_axes != 0 && (op.is_elementwise || op.is_rows)) {
      op.Mistake({".dynamic is for .kernel: .", op.is_elementwise ? "elementwise" : "rows",
                  " cannot say what the size of output ", op.def.outputs[i]->name,
                  " came to\n  write .kernel with a oneop::Call, and call.set_size in it"});
    }
  }
  if (op.is_elementwise && op.axes != nullptr && !op.axes->HaveOneShape()) {
    op.Mistake({"its axes \"", op.axes->text,
                "\" give tensors of different shapes to .elementwise\n  use .rows or .kernel"});
  }
  if (op.is_rows) {
    CheckRowAxes(op);
  }
}

// When the library is loaded, and all its ops are known.
ONEOP_COLD inline void FinishRecords() {
  FinishExtensions();
  for (GradientRecord* gradient = first_gradient; gradient != nullptr; gradient = gradient->next) {
    gradient->rule = GradientParser(gradient->op).Parse();
  }
  for (OpRecord* op = first_record; op != nullptr; op = const_cast<OpRecord*>(op->next)) {
    for (int i = 0; i < op->schema->num_inputs; ++i) {
      if (op->schema->inputs[i].is_mutable || op->has_no_gradient[i]) {
        op->def.modify_inputs = &ModifyInputs;
      }
    }
    CheckForms(*op);
    if (op->schema->num_outputs == 0 && op->def.infer_logical == nullptr) {
      op->def.infer_logical = &InferOutputs;  // there is nothing to infer
    } else if (op->def.infer_logical == nullptr) {
      op->Mistake(
          {"nothing says what its outputs are\n  add .same_shape(), .infer(\"a b -> a\")"
           " or .infer([](oneop::Infer& ctx) { ... })"});
    }
  }
}

ONEOP_COLD inline void SetDynamic(OpRecord* record, std::string_view output, int axis) {
  Names names(output);
  for (int32_t i = 0; i < record->def.num_outputs; ++i) {
    auto* arg = const_cast<oneop_arg_def*>(record->def.outputs[i]);
    if (output == arg->name && axis >= 0 && axis < 32) {
      arg->dynamic_axes |= 1u << axis;
      return;
    }
    names.Add(arg->name);
  }
  record->Mistake({".dynamic(\"", output, "\", ", sdk::Digits(axis),
                   "): expected an output and an axis from 0 on; ", names.Hint()});
}

template <class S>
class Op {
 public:
  explicit Op(OpRecord* record) : record_(record) {}

  // --- What the outputs are ---
  // Like the inputs, which have one shape.
  Op& same_shape() {
    record_->has_one_shape = true;
    return SayOutputs();
  }
  // A line of axes, or a function of Infer&.
  Op& infer(const char* axes) {
    if (kIsRight) {
      record_->axes = AxesParser(*record_, axes).Parse();
      record_->def.get_sbp = &GetSbp;
    }
    return SayOutputs();
  }
  template <class F, class = std::enable_if_t<std::is_invocable_v<const F&, Infer&>>>
  Op& infer(const F& function) {
    record_->infer = function;
    return SayOutputs();
  }

  // --- Kernels, for a list of dtypes or of signatures such as float(float, int64_t) ---
  template <class... T, class F>
  Op& elementwise(const F& functor) {
    static_assert(sizeof...(T) != 0, "name the dtypes: .elementwise<float, double>(...)");
    if constexpr (kIsRight) {
      record_->is_elementwise = true;
      if (S::kSchema.num_mutable() == 0) {
        record_->def.get_sbp = &GetSbp;
      }
      InferIfNothingDoes();
      const F* kept = new F(functor);
      static_cast<void>((AddElementwise<T>(kept), ...));
    }
    return *this;
  }
  template <class... T, class F>
  Op& rows(const F& functor) {
    static_assert(sizeof...(T) != 0, "name the dtypes: .rows<float, double>(...)");
    if constexpr (kIsRight) {
      record_->is_rows = true;
      InferIfNothingDoes();
      static_cast<void>((AddRows<T>(functor), ...));
    }
    return *this;
  }
  template <class... T, class F>
  Op& kernel(const F& function) {
    return OnDevice<ONEOP_DEVICE_CPU, T...>(function);
  }
  template <class... T, class F>
  Op& cuda_kernel(const F& function) {
    return OnDevice<ONEOP_DEVICE_CUDA, T...>(function);
  }
#if defined(__CUDACC__)
  // As .rows, for CUDA tensors; the functor is one of ONEOP_FUNCTOR.
  template <class... T, class F>
  Op& cuda_rows(const F& functor) {
    static_assert(sizeof...(T) != 0, "name the dtypes: .cuda_rows<float, double>(...)");
    if constexpr (kIsRight) {
      record_->is_rows = true;
      InferIfNothingDoes();
      static_cast<void>((AddCudaRows<T>(functor), ...));
    }
    return *this;
  }
#endif
  // Of the CUDA kernels that were named so far: they only launch work on their stream, which
  // depends on nothing but shapes and attributes, so a CUDA graph may record them.
  Op& cuda_graph() {
    for (KernelRecord* kernel = record_->kernels; kernel != nullptr; kernel = kernel->next) {
      if (kernel->device == ONEOP_DEVICE_CUDA) {
        kernel->def.flags |= ONEOP_KERNEL_CUDA_GRAPH;
      }
    }
    return *this;
  }

  // Of the kernels named so far that did not declare it yet; what .elementwise and .rows make
  // declares itself, until the author says otherwise. The first: the same call gives the same bits
  // each time. A kernel that has a slower way to do so may take it only where
  // Call::requires_deterministic() says so.
  Op& deterministic() { return Declare(ONEOP_KERNEL_DETERMINISTIC); }
  // They may not, whatever is required: then they do not run.
  Op& nondeterministic() { return Declare(ONEOP_KERNEL_NONDETERMINISTIC); }
  // The bits of a row do not depend on the other rows, nor on their number.
  Op& batch_invariant() { return Declare(ONEOP_KERNEL_BATCH_INVARIANT); }

  // --- The rest ---
  Op& gradient(const char* text) {
    if (kIsRight) {
      record_->gradient_text = text;
      NewGradient(record_);
      CheckGradient();
    }
    return *this;
  }
  template <class... Text>
  Op& sbp(Text... signatures) {
    static_cast<void>((AddSbp(signatures), ...));
    return *this;
  }
  // How many arithmetic operations a call takes: a function of Infer&.
  template <class F>
  Op& flops(const F& function) {
    static_assert(std::is_invocable_r_v<double, const F&, Infer&>,
                  ".flops takes a function that returns a number: [](oneop::Infer& ctx) { ... }");
    record_->flops = function;
    record_->def.count_operations = &CountOperations;
    return *this;
  }
  // The size of an output along an axis depends on data. Inference gives the largest; a kernel says
  // by Call::set_size what it came to.
  Op& dynamic(std::string_view output, int axis) {
    if (kIsRight) {
      SetDynamic(record_, output, axis);
    }
    return *this;
  }
  Op& doc(const char* text) {
    record_->def.doc = text;
    return *this;
  }
  Op& no_grad() {
    Flag(ONEOP_OP_NO_GRAD);
    CheckGradient();
    return *this;
  }
  Op& random() { return Flag(ONEOP_OP_RANDOM); }
  Op& side_effect() { return Flag(ONEOP_OP_SIDE_EFFECT); }
  Op& cpu_only() { return Flag(ONEOP_OP_CPU_ONLY); }
  Op& strided() { return Flag(ONEOP_OP_NON_CONTIGUOUS); }

 private:
  static constexpr bool kIsRight = S::kSchema.problem == nullptr;
  // Of elements and rows that are each worked out alone, in an order that depends on nothing else.
  static constexpr uint32_t kEachAlone = ONEOP_KERNEL_DETERMINISTIC | ONEOP_KERNEL_BATCH_INVARIANT;

  // An op has a gradient or none: either would win without a word.
  void CheckGradient() {
    if (record_->gradient_text != nullptr && (record_->def.flags & ONEOP_OP_NO_GRAD) != 0) {
      record_->Mistake({"it has a .gradient and .no_grad(); use one of them"});
    }
  }
  Op& Flag(uint32_t flag) {
    record_->def.flags |= flag;
    return *this;
  }
  Op& Declare(uint32_t flag) {
    constexpr uint32_t kOpposites = ONEOP_KERNEL_DETERMINISTIC | ONEOP_KERNEL_NONDETERMINISTIC;
    const uint32_t said = (flag & kOpposites) != 0 ? kOpposites : flag;
    for (KernelRecord* kernel = record_->kernels; kernel != nullptr; kernel = kernel->next) {
      if ((kernel->declared & said) == 0) {
        kernel->declared |= said;
        kernel->def.flags = (kernel->def.flags & ~said) | flag;
      }
    }
    return *this;
  }
  void InferIfNothingDoes() {
    if (record_->def.infer_logical == nullptr) {
      record_->def.infer_logical = &InferOutputs;
    }
  }
  // One rule: what another one says of the same outputs would be lost.
  Op& SayOutputs() {
    if (record_->says_outputs) {
      record_->Mistake({"its outputs are said twice; use one of .same_shape() and .infer()"});
    }
    record_->says_outputs = true;
    InferIfNothingDoes();
    return *this;
  }
  ONEOP_COLD void AddSbp(const char* text) {
    if (SbpRule* rule = kIsRight ? SbpParser(*record_, text).Parse() : nullptr) {
      rule->next = record_->sbp;
      record_->sbp = rule;
      record_->def.get_sbp = &GetSbp;
    }
  }

  template <class P>
  void AddDtypes(int32_t* ins, int32_t* outs) {
    PutDtypes(typename P::Ins(), ins);
    PutDtypes(typename P::Outs(), outs);
    if (!P::Sig::kIsUniform) {
      auto* rule = new DtypeRule{{}, {}, record_->dtypes};
      for (int i = 0; i < kMostArguments; ++i) {
        rule->inputs[i] = ins[i];
        rule->outputs[i] = outs[i];
      }
      record_->dtypes = rule;
    }
  }

  template <class T, class F>
  void AddElementwise(const F* functor) {
    using P = Plan<S, T>;
    if constexpr (!kAreNumbers<Concatenated<typename P::Ins, typename P::Outs>>) {
      static_assert(kAreNumbers<Concatenated<typename P::Ins, typename P::Outs>>,
                    "functors of elements compute with numbers; for complex tensors write "
                    ".kernel<std::complex<float>>(...), which has them as views");
    } else if constexpr (!S::kSchema.has_only_plain_tensors() || S::kSchema.num_inputs == 0) {
      WrongTensors(*record_, "elementwise");
    } else if constexpr (!P::kFits) {
      WrongSignature(*record_);
    } else {
      using Invoked =
          Invocation<F, typename ComputeTypesOf<typename P::Ins>::type, typename P::Readers>;
      using Results = ResultsOf<S, P>;
      using Returned = decltype(Invoked::ResultType());
      if constexpr (!Invoked::kFits) {
        UnfitFunctor(*record_, "elementwise", "an element of each input, then the attributes",
                     false, true);
      } else if constexpr (NumResults<Returned>::kCount != Results::kCount) {
        WrongResults(*record_, Results::kCount);
      } else if constexpr (Invoked::Narrow() >= 0) {
        NarrowFunctor(*record_, "elementwise", Invoked::Narrow());
      } else {
        int32_t ins[kMostArguments] = {}, outs[kMostArguments] = {};
        AddDtypes<P>(ins, outs);
        using Work = ElementwiseWork<S, F, Results, typename P::Ins, typename P::Readers>;
        NewKernel(record_, ONEOP_DEVICE_CPU, ins, outs, functor, &Compute<Work, F>)->def.flags |=
            kEachAlone;
#if defined(__CUDACC__)
        using CudaWork = CudaElementwiseWork<S, F, Results, typename P::Ins, typename P::Readers>;
        NewKernel(record_, ONEOP_DEVICE_CUDA, ins, outs, functor, &Compute<CudaWork, F>)
            ->def.flags |= ONEOP_KERNEL_CUDA_GRAPH | kEachAlone;
#endif
      }
    }
  }
  template <class T, class F>
  void AddRows(const F& functor) {
    using P = Plan<S, T>;
    if constexpr (!kAreNumbers<Concatenated<typename P::Ins, typename P::Outs>>) {
      static_assert(kAreNumbers<Concatenated<typename P::Ins, typename P::Outs>>,
                    "functors of rows compute with numbers; for complex tensors write "
                    ".kernel<std::complex<float>>(...), which has them as views");
    } else if constexpr (!S::kSchema.has_only_plain_tensors() || S::kSchema.num_inputs == 0) {
      WrongTensors(*record_, "rows");
    } else if constexpr (!P::kFits) {
      WrongSignature(*record_);
    } else if constexpr (!kTakesRows<F, typename P::Outs, typename P::Ins, typename P::Readers>) {
      UnfitFunctor(*record_, "rows", "a row of each input and output, then the attributes", true,
                   true);
    } else if constexpr (kNarrowInRows<F, typename P::Outs, typename P::Ins, typename P::Readers> >=
                         0) {
      NarrowFunctor(*record_, "rows",
                    kNarrowInRows<F, typename P::Outs, typename P::Ins, typename P::Readers>);
    } else {
      int32_t ins[kMostArguments] = {}, outs[kMostArguments] = {};
      AddDtypes<P>(ins, outs);
      using Work = RowsWork<F, typename P::Outs, typename P::Ins, typename P::Readers>;
      using Kept = typename Work::Kept;
      NewKernel(record_, ONEOP_DEVICE_CPU, ins, outs, new Kept{functor, record_},
                &Compute<Work, Kept>)
          ->def.flags |= kEachAlone;
    }
  }
#if defined(__CUDACC__)
  template <class T, class F>
  void AddCudaRows(const F& functor) {
    using P = Plan<S, T>;
    if constexpr (!kAreNumbers<Concatenated<typename P::Ins, typename P::Outs>>) {
      static_assert(kAreNumbers<Concatenated<typename P::Ins, typename P::Outs>>,
                    "functors of rows compute with numbers; for complex tensors write "
                    ".kernel<std::complex<float>>(...), which has them as views");
    } else if constexpr (!S::kSchema.has_only_plain_tensors() || S::kSchema.num_inputs == 0) {
      WrongTensors(*record_, "cuda_rows");
    } else if constexpr (!P::kFits) {
      WrongSignature(*record_);
    } else {
      using Work = CudaRowsWork<F, typename P::Outs, typename P::Ins, typename P::Readers>;
      if constexpr (!Work::kFits) {
        UnfitFunctor(*record_, "cuda_rows", "a row of each input and output, then the attributes",
                     true, true);
      } else {
        int32_t ins[kMostArguments] = {}, outs[kMostArguments] = {};
        AddDtypes<P>(ins, outs);
        using Kept = typename Work::Kept;
        NewKernel(record_, ONEOP_DEVICE_CUDA, ins, outs, new Kept{functor, record_},
                  &Compute<Work, Kept>)
            // Threads share a row in an order that depends on the alignment of its memory.
            ->def.flags |= ONEOP_KERNEL_CUDA_GRAPH | ONEOP_KERNEL_DETERMINISTIC;
      }
    }
  }
#endif
  template <int32_t kDevice, class... T, class F>
  Op& OnDevice(const F& function) {
    static_assert(sizeof...(T) != 0, "name the dtypes: .kernel<float, double>(...)");
    if constexpr (kIsRight) {
      const F* kept = new F(function);
      static_cast<void>((AddTyped<kDevice, T>(kept), ...));
    }
    return *this;
  }
  template <int32_t kDevice, class T, class F>
  void AddTyped(const F* function) {
    using P = Plan<S, T>;
    if constexpr (!P::kFits) {
      WrongSignature(*record_);
    } else {
      using Arguments = typename ArgumentsOf<S, typename P::Outs, typename P::Ins>::type;
      using Work = TypedWork<F, T, Arguments>;
      if constexpr (!Work::kFits) {
        UnfitFunctor(*record_, "kernel", "a View of each input and output, then Attrs and Call&",
                     true, false);
      } else {
        int32_t ins[kMostArguments] = {}, outs[kMostArguments] = {};
        AddDtypes<P>(ins, outs);
        NewKernel(record_, kDevice, ins, outs, function, &Compute<Work, F>);
      }
    }
  }

  OpRecord* record_;
};

// OP_KERNELS("..."): what can be said of an op that another source defines.
template <class S>
class Kernels {
 public:
  explicit Kernels(OpRecord* record) : op_(record) {}

  template <class... T, class F>
  Kernels& kernel(const F& function) {
    op_.template kernel<T...>(function);
    return *this;
  }
  template <class... T, class F>
  Kernels& cuda_kernel(const F& function) {
    op_.template cuda_kernel<T...>(function);
    return *this;
  }
#if defined(__CUDACC__)
  template <class... T, class F>
  Kernels& cuda_rows(const F& functor) {
    op_.template cuda_rows<T...>(functor);
    return *this;
  }
#endif
  Kernels& cuda_graph() {
    op_.cuda_graph();
    return *this;
  }
  Kernels& deterministic() {
    op_.deterministic();
    return *this;
  }
  Kernels& nondeterministic() {
    op_.nondeterministic();
    return *this;
  }
  Kernels& batch_invariant() {
    op_.batch_invariant();
    return *this;
  }

 private:
  Op<S> op_;
};

template <class Text>
Kernels<SchemaOf<Text>> Extend(Text, const char* file, int32_t line) {
  sdk::library.finish = &FinishRecords;
  return Kernels<SchemaOf<Text>>(NewExtension(&SchemaOf<Text>::kSchema, {file, line}));
}
template <class Text>
Op<SchemaOf<Text>> Define(Text, const char* file, int32_t line) {
  sdk::library.finish = &FinishRecords;
  return Op<SchemaOf<Text>>(NewRecord(&SchemaOf<Text>::kSchema, {file, line}));
}

}  // namespace op

using op::Infer;

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_BUILDER_H_
