// OpKernel, its state and cache, and the contexts in which it runs.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_KERNEL_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_KERNEL_H_

#include <memory>

#include "oneflow/core/ep/include/stream.h"
#include "oneflow/core/framework/infer_util.h"
#if defined(ONEOP_PORT)
#include "oneflow/core/common/optional.h"
#include "oneflow/core/framework/user_op_conf.h"
#include "oneop/sdk/random_seed.h"
#endif

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

// What the contexts of a kernel share: descs of tensors, and the stream.
class KernelContextBase : public ::oneop::sdk::Context {
 public:
  explicit KernelContextBase(oneop_frame* frame) : Context(frame), stream_(frame) {}
  ep::Stream* stream() const { return &stream_; }
  DeviceCtx* device_ctx() const { return &stream_; }
  const TensorDesc* TensorDesc4ArgNameAndIndex(std::string_view name, int32_t index) const {
    return FindDesc(name, index);
  }
  template <class T = void>
  const TensorDesc* LogicalTensorDesc4ArgNameAndIndex(std::string_view name, int32_t index) const {
    static_cast<void>(::oneop::sdk::AsksPlacement<T>::noted);
    return FindLogicalDesc(name, index);
  }
  template <class T = void>
  int64_t parallel_num() const {
    static_cast<void>(::oneop::sdk::AsksPlacement<T>::noted);
    return Context::parallel_num();
  }
  template <class T = void>
  ParallelDesc parallel_desc() const {
    static_cast<void>(::oneop::sdk::AsksPlacement<T>::noted);
    return Context::parallel_desc();
  }

 private:
  mutable ep::Stream stream_;
};

class KernelInitContext : public KernelContextBase {
  using KernelContextBase::KernelContextBase;
};
using KernelCreateContext = KernelInitContext;  // as 0.4 calls it
class KernelCacheContext : public KernelContextBase {
  using KernelContextBase::KernelContextBase;
};
class KernelRegContext : public KernelContextBase {
  using KernelContextBase::KernelContextBase;
};

class KernelComputeContext : public KernelContextBase {
 public:
  using KernelContextBase::KernelContextBase;
  // Null where an optional argument was not given; an error where the op has no such argument.
  // In sources of OneFlow's that is null too: one kernel there serves several ops.
  // "tmp_buffer" is the scratch memory that the kernel asked for.
  Tensor* Tensor4ArgNameAndIndex(std::string_view name, int32_t index) const {
    const int32_t number = ::oneop::sdk::FindTensor(frame_, name, index);
    if (ONEOP_LIKELY(number >= 0)) {
      return Tensor::OneopFrom(::oneop::sdk::TensorAt(frame_, number));
    }
    if (name == "tmp_buffer" && index == 0) {
      return Tensor::OneopFrom(frame_->tmp_buffer);
    }
#ifndef ONEOP_PORT
    ::oneop::sdk::FindGivenTensor(frame_, name, index);
#endif
    return nullptr;
  }
};
using KernelContext = KernelComputeContext;

class KernelInferContext : public KernelComputeContext {
 public:
  using KernelComputeContext::KernelComputeContext;
  ShapeView ShapeView4ArgNameAndIndex(std::string_view name, int32_t index) const {
    const int32_t number = ::oneop::sdk::NeedTensor(frame_, name, index);
    return Tensor::OneopFrom(::oneop::sdk::TensorAt(frame_, number))->shape();
  }
#if ONEOP_GENERATION == 2020
  MutShapeView* MutShapeView4ArgNameAndIndex(std::string_view name, int32_t index) const {
    oneop_tensor* tensor = FindMutTensor(name, index);
    return &Keep<MutShapeView>(&tensor->elem_cnt, Tensor::OneopFrom(tensor)->mut_shape());
  }
#else
  MutShapeView MutShapeView4ArgNameAndIndex(std::string_view name, int32_t index) const {
    return Tensor::OneopFrom(FindMutTensor(name, index))->mut_shape();
  }
#endif

 private:
  oneop_tensor* FindMutTensor(std::string_view name, int32_t index) const {
    return ::oneop::sdk::TensorAt(frame_, ::oneop::sdk::NeedTensor(frame_, name, index));
  }
};

class OpKernelState {
 public:
  virtual ~OpKernelState() = default;
};
class OpKernelCache {
 public:
  static constexpr int8_t kAllMayChanged = 0;
  static constexpr int8_t kShapeNotChanged = 1;
  static constexpr int8_t kAttrNotChanged = 2;
  virtual ~OpKernelCache() = default;
};
template <class T>
class OpKernelStateWrapper final : public OpKernelState {
 public:
  template <class... A>
  explicit OpKernelStateWrapper(A&&... args) : data_(std::forward<A>(args)...) {}
  const T& Get() const { return data_; }
  T* Mutable() { return &data_; }

 private:
  T data_;
};
template <class T>
class OpKernelCacheWrapper final : public OpKernelCache {
 public:
  template <class... A>
  explicit OpKernelCacheWrapper(A&&... args) : data_(std::forward<A>(args)...) {}
  const T& Get() const { return data_; }
  T* Mutable() { return &data_; }

 private:
  T data_;
};

class OpKernel {
 public:
  OpKernel() = default;
  OpKernel(const OpKernel&) = delete;
  OpKernel& operator=(const OpKernel&) = delete;
  virtual ~OpKernel() = default;

  static constexpr int8_t kAllMayChanged = 0;
  static constexpr int8_t kShapeNotChanged = 1;
  static constexpr int8_t kAttrNotChanged = 2;

  virtual std::shared_ptr<OpKernelState> CreateOpKernelState(KernelInitContext*) const {
    return nullptr;
  }
  virtual std::shared_ptr<OpKernelCache> InitOpKernelCache(KernelCacheContext*) const {
    return nullptr;
  }
  // Where this leaves no cache behind, InitOpKernelCache is asked.
  virtual void InitOpKernelCacheWithFlags(KernelCacheContext*, int8_t /*flags*/,
                                          std::shared_ptr<OpKernelCache>*) const {}

  // The host's call goes down this list to the form that the author overrides.
  virtual void Compute(KernelComputeContext* ctx, OpKernelState* state,
                       const OpKernelCache* /*cache*/) const {
    Compute(ctx, state);
  }
  virtual void Compute(KernelComputeContext* ctx, OpKernelState* /*state*/) const { Compute(ctx); }
  virtual void Compute(KernelComputeContext* ctx) const {
    const_cast<OpKernel*>(this)->Compute(ctx);  // kernels are never const objects
  }
  virtual void Compute(KernelComputeContext* ctx) {  // the form of 2019
    ThrowNoCompute(ctx);
  }

  virtual void InferShape(KernelInferContext*) const {}
  virtual bool AlwaysComputeWhenAllOutputsEmpty() const { return false; }
  virtual bool IsKernelLaunchSynchronized() const { return true; }

 private:
  [[noreturn]] ONEOP_COLD static void ThrowNoCompute(KernelComputeContext* ctx) {
    ::oneop::sdk::ThrowText(ONEOP_ERROR_NOT_IMPLEMENTED,
                            {"the kernel of op \"", ctx->oneop_frame_ptr()->op_type_name,
                             "\" overrides no Compute function"});
  }
};

template <class T, class... A>
T* NewOpKernel(A&&... args) {
  return new T(std::forward<A>(args)...);
}

// A mixin: the kernel may be recorded into a CUDA graph.
class CudaGraphSupport {
 public:
  virtual ~CudaGraphSupport() = default;
  virtual bool IsCudaGraphSupported(KernelInitContext*, OpKernelState*) const { return true; }
  virtual bool IsReadyForCapture(KernelComputeContext*, OpKernelState*,
                                 const OpKernelCache*) const {
    return true;
  }
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_KERNEL_H_
