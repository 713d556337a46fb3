// REGISTER_USER_KERNEL.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_KERNEL_REGISTRY_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_KERNEL_REGISTRY_H_

#include "oneflow/core/framework/user_op_conf.h"
#include "oneflow/core/framework/user_op_hob.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

using oneflow::user_op::CudaGraphSupport;
using oneflow::user_op::OpKernel;

// Does T override this member of OpKernel? Where &T::Member cannot be named (a private override),
// it does.
#define ONEOP_OVERRIDES(Member)                                                               \
  template <class T, class = void>                                                            \
  struct Overrides##Member : std::true_type {};                                               \
  template <class T>                                                                          \
  struct Overrides##Member<                                                                   \
      T, std::enable_if_t<std::is_same_v<decltype(&T::Member), decltype(&OpKernel::Member)>>> \
      : std::false_type {};
ONEOP_OVERRIDES(CreateOpKernelState)
ONEOP_OVERRIDES(InitOpKernelCache)
ONEOP_OVERRIDES(InitOpKernelCacheWithFlags)
#undef ONEOP_OVERRIDES

// Of a plain OpKernel nothing is known, so it may have either.
template <class T>
inline constexpr bool kHasState =
    std::is_same_v<T, OpKernel> || OverridesCreateOpKernelState<T>::value;
template <class T>
inline constexpr bool kHasCache =
    std::is_same_v<T, OpKernel> || OverridesInitOpKernelCache<T>::value ||
    OverridesInitOpKernelCacheWithFlags<T>::value;

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

constexpr int32_t kKernelPriorityFallback = -10;
constexpr int32_t kKernelPriorityDefault = 0;
constexpr int32_t kKernelPriorityOptimized = 10;
constexpr int32_t kKernelPriorityExperimental = 100;

// What SetInplaceProposalFn gives to the author: the output may use the memory of the input.
class AddInplaceArgPair {
 public:
  AddInplaceArgPair(const oneop_frame* frame, oneop_inplace_sink* sink, oneop_status* status)
      : frame_(frame), sink_(sink), status_(status) {}
  Maybe<void> operator()(std::string_view out, int32_t out_index, std::string_view in,
                         int32_t in_index, bool is_mutable) const {
    const int32_t output = ::oneop::sdk::NeedTensor(frame_, out, out_index, ::oneop::sdk::kOutput);
    const int32_t input = ::oneop::sdk::NeedTensor(frame_, in, in_index, ::oneop::sdk::kInput);
    const int32_t code =
        sink_->add(sink_, output - frame_->num_input_tensors, input, is_mutable ? 1 : 0, status_);
    if (code != ONEOP_OK) {
      throw code;
    }
    return Maybe<void>::Ok();
  }

 private:
  const oneop_frame* frame_;
  oneop_inplace_sink* sink_;
  oneop_status* status_;
};

class OpKernelRegistry {
 public:
  OpKernelRegistry(std::string_view op_type_name, const char* file, int32_t line) {
    def_.size = sizeof def_;
    def_.op_type_name = ::oneop::sdk::library.arena.CopyText(op_type_name);
    def_.file = file;
    def_.line = line;
    def_.self = this;
    def_.predicate = "true";
    def_.destroy = [](void* kernel) { delete static_cast<OpKernel*>(kernel); };
    def_.always_compute = [](void* kernel) -> int32_t {
      return static_cast<OpKernel*>(kernel)->AlwaysComputeWhenAllOutputsEmpty();
    };
    def_.compute = &Compute;
    ::oneop::sdk::library.kernels.Add(&def_);
  }

  template <class T>
  OpKernelRegistry& SetCreateFn() {
    new_ = []() -> OpKernel* { return new T(); };
    def_.create = &Create;
    return Describe<T>();
  }
  // A function of no arguments, or of the KernelInitContext (2019), that returns a new kernel.
  template <class F>
  OpKernelRegistry& SetCreateFn(const F& fn) {
    if constexpr (std::is_invocable_v<const F&>) {
      create_ = [fn](const KernelInitContext&) { return Plain(fn()); };
      def_.create = &Create;
      return Describe<std::remove_cv_t<std::remove_pointer_t<decltype(fn())>>>();
    } else {
      create_ = [fn](const KernelInitContext& ctx) { return Plain(fn(ctx)); };
      def_.create = &Create;
      using Made = decltype(fn(std::declval<const KernelInitContext&>()));
      return Describe<std::remove_cv_t<std::remove_pointer_t<Made>>>();
    }
  }

  template <class T>
  OpKernelRegistry& SetCreateWithCtxFn() {  // 0.4
    return SetCreateWithCtxFn([](KernelInitContext* ctx) { return new T(ctx); });
  }
  template <class F>
  OpKernelRegistry& SetCreateWithCtxFn(const F& fn) {
    return SetCreateFn(
        [fn](const KernelInitContext& ctx) { return fn(const_cast<KernelInitContext*>(&ctx)); });
  }

  ONEOP_COLD OpKernelRegistry& SetIsMatchedHob(const hob::Expr& expr) {
    matches_ = expr.node();
    def_.predicate = matches_->text;
    AddFacts(matches_);
    def_.num_facts = facts_.count;
    def_.facts = reinterpret_cast<const oneop_fact* const*>(facts_.data);
    def_.is_matched = &IsMatched;
    return *this;
  }
  template <class F>
  OpKernelRegistry& SetIsMatchedPred(const F& predicate) {
    return SetIsMatchedHob(hob::Other({"predicate"}, predicate));
  }
  template <class F>
  OpKernelRegistry& SetInferTmpSizeFn(const F& fn) {
    infer_tmp_size_ = fn;
    def_.infer_tmp_size = &InferTmpSize;
    return *this;
  }
  template <class F>
  OpKernelRegistry& SetInplaceProposalFn(const F& fn) {
    propose_inplace_ = fn;
    def_.propose_inplace = &ProposeInplace;
    return *this;
  }
  OpKernelRegistry& SetPriority(int32_t priority) {
    def_.priority = priority;
    return *this;
  }
  // These two are oneop's; abi.h says what they mean. A kernel asks for what is required with
  // ::oneop::sdk::Requires(ctx->oneop_frame_ptr(), ONEOP_REQUIRE_...).
  OpKernelRegistry& SetDeterministic(bool is_deterministic = true) {
    def_.flags &= ~(ONEOP_KERNEL_DETERMINISTIC | ONEOP_KERNEL_NONDETERMINISTIC);
    def_.flags |= is_deterministic ? ONEOP_KERNEL_DETERMINISTIC : ONEOP_KERNEL_NONDETERMINISTIC;
    return *this;
  }
  OpKernelRegistry& SetBatchInvariant() {
    def_.flags |= ONEOP_KERNEL_BATCH_INVARIANT;
    return *this;
  }

 private:
  using Place = ::oneop::sdk::Place;
  static OpKernel* Plain(const OpKernel* kernel) { return const_cast<OpKernel*>(kernel); }

  template <class T>
  OpKernelRegistry& Describe() {
    static_assert(std::is_base_of_v<OpKernel, T>, "a kernel derives from user_op::OpKernel");
    if constexpr (std::is_base_of_v<CudaGraphSupport, T>) {
      def_.flags |= ONEOP_KERNEL_CUDA_GRAPH;
    }
#if defined(__CUDACC__)
    def_.compute = &ComputeAndCheckLaunch<T>;
#endif
    if constexpr (::oneop::sdk::kHasState<T>) {
      def_.create_state = &CreateState<>;
      def_.destroy_state = [](void* state) { delete static_cast<StatePointer*>(state); };
    }
    if constexpr (::oneop::sdk::kHasCache<T>) {
      def_.create_cache = &CreateCache<>;
      def_.destroy_cache = [](void* cache) { delete static_cast<CachePointer*>(cache); };
    }
    return *this;
  }

  // The parts of the conjunction at the top; the host shows them and says which one failed.
  ONEOP_COLD void AddFacts(const hob::Node* node) {
    if (node->kind == hob::Kind::kAnd) {
      AddFacts(node->left);
      AddFacts(node->right);
      return;
    }
    if (node->kind == hob::Kind::kTrue) {
      return;
    }
    oneop_fact* fact = new oneop_fact{};
    fact->size = sizeof *fact;
    fact->kind = node->kind == hob::Kind::kDevice  ? ONEOP_FACT_DEVICE
                 : node->kind == hob::Kind::kDtype ? ONEOP_FACT_DTYPE
                                                   : ONEOP_FACT_OTHER;
    fact->value = node->value;
    fact->index = node->index;
    fact->arg = node->arg;
    fact->text = node->text;
    facts_.Add(fact);
  }

  ONEOP_COLD static int32_t IsMatched(void* self, oneop_frame* frame, int32_t* matched,
                                      oneop_status* status) {
    const OpKernelRegistry* me = static_cast<OpKernelRegistry*>(self);
    try {
      const KernelRegContext ctx(frame);
      *matched = me->matches_->Holds(ctx) ? 1 : 0;
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  ONEOP_COLD static int32_t InferTmpSize(void* self, oneop_frame* frame, int64_t* bytes,
                                         oneop_status* status) {
    const OpKernelRegistry* me = static_cast<OpKernelRegistry*>(self);
    try {
      InferContext ctx(frame);
      *bytes = me->infer_tmp_size_(&ctx);
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  ONEOP_COLD static int32_t ProposeInplace(void* self, oneop_frame* frame, oneop_inplace_sink* sink,
                                           oneop_status* status) {
    const OpKernelRegistry* me = static_cast<OpKernelRegistry*>(self);
    try {
      const InferContext ctx(frame);
      ::oneop::sdk::ThrowIfError(me->propose_inplace_(ctx, AddInplaceArgPair(frame, sink, status)));
      return ONEOP_OK;
    } catch (int32_t reported) {  // by the host's own function
      return reported;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }
  ONEOP_COLD static int32_t Create(void* self, oneop_frame* frame, void** kernel,
                                   oneop_status* status) {
    const OpKernelRegistry* me = static_cast<OpKernelRegistry*>(self);
    try {
      *kernel = me->new_ != nullptr ? me->new_() : me->create_(KernelInitContext(frame));
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, me->place());
    }
  }

  using StatePointer = std::shared_ptr<OpKernelState>;
  using CachePointer = std::shared_ptr<OpKernelCache>;
  template <class = void>
  ONEOP_COLD static int32_t CreateState(void* kernel, oneop_frame* frame, void** state,
                                        oneop_status* status) {
    try {
      KernelInitContext ctx(frame);
      StatePointer made = static_cast<OpKernel*>(kernel)->CreateOpKernelState(&ctx);
      *state = made ? new StatePointer(std::move(made)) : nullptr;
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, Place{});
    }
  }
  template <class = void>
  ONEOP_COLD static int32_t CreateCache(void* kernel, oneop_frame* frame, void** cache,
                                        oneop_status* status) {
    try {
      KernelCacheContext ctx(frame);
      CachePointer made;
      static_cast<OpKernel*>(kernel)->InitOpKernelCacheWithFlags(&ctx, OpKernel::kAllMayChanged,
                                                                 &made);
      if (!made) {
        made = static_cast<OpKernel*>(kernel)->InitOpKernelCache(&ctx);
      }
      *cache = made ? new CachePointer(std::move(made)) : nullptr;
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, Place{});
    }
  }
  static int32_t Compute(void* kernel, oneop_frame* frame, void* state, const void* cache,
                         oneop_status* status) {
    try {
      KernelComputeContext ctx(frame);
      const OpKernel* me = static_cast<OpKernel*>(kernel);
      me->Compute(&ctx, state == nullptr ? nullptr : static_cast<StatePointer*>(state)->get(),
                  cache == nullptr ? nullptr : static_cast<const CachePointer*>(cache)->get());
      return ONEOP_OK;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, Place{});
    }
  }

#if defined(__CUDACC__)
  // A launch that fails says so to nobody unless it is asked.
  template <class>
  static int32_t ComputeAndCheckLaunch(void* kernel, oneop_frame* frame, void* state,
                                       const void* cache, oneop_status* status) {
    const int32_t code = Compute(kernel, frame, state, cache, status);
    if (code != ONEOP_OK || frame->device_type != ONEOP_DEVICE_CUDA) {
      return code;
    }
    const cudaError_t error = cudaGetLastError();
    if (ONEOP_LIKELY(error == cudaSuccess)) {
      return ONEOP_OK;
    }
    try {
      ::oneop::sdk::Throw(Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
                          << "a CUDA kernel could not be launched: " << cudaGetErrorString(error));
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, Place{});
    }
  }
#endif

  Place place() const { return {def_.file, def_.line}; }

  oneop_kernel_def def_{};
  const hob::Node* matches_ = nullptr;
  OpKernel* (*new_)() = nullptr;
  ::oneop::sdk::PointerList facts_{};
  ::oneop::sdk::KeptFn<OpKernel*(const KernelInitContext&)> create_;
  ::oneop::sdk::KeptFn<int64_t(InferContext*)> infer_tmp_size_;
  ::oneop::sdk::KeptFn<Maybe<void>(const InferContext&, AddInplaceArgPair)> propose_inplace_;
};

ONEOP_COLD inline OpKernelRegistry& NewKernel(std::string_view op_type_name, const char* file,
                                              int32_t line) {
  return *new OpKernelRegistry(op_type_name, file, line);  // lives as long as the library
}

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#define REGISTER_USER_KERNEL(name)                                            \
  static const ::oneop::sdk::Registered ONEOP_CAT(oneop_kernel_, __COUNTER__) \
      __attribute__((unused)) = ::oneflow::user_op::NewKernel(name, __FILE__, __LINE__)

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_KERNEL_REGISTRY_H_
