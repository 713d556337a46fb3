// SbpContext, in which an op says how it can be split over devices.
#ifndef ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_
#define ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_

#include "oneflow/core/framework/user_op_conf.h"
#if defined(ONEOP_PORT)
#include "oneflow/core/common/hash_container.h"
#include "oneflow/core/common/protobuf.h"
#include "oneflow/core/common/util.h"
#endif

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

class NdSbpSignature;

namespace user_op {

// Where a signature by names goes: a list of messages, which the author looks at.
struct NamedSbpSink {
  virtual ~NamedSbpSink() = default;
  virtual void Set(std::string_view name, int32_t index, oneop_sbp sbp) = 0;
  virtual void Build() = 0;
  virtual NamedSbpSink* Clone() const = 0;
};
template <class List>
struct SbpListSink final : NamedSbpSink {
  explicit SbpListSink(List* to) : list(to) {}
  void Set(std::string_view name, int32_t index, oneop_sbp sbp) override {
    std::string bn(name);
    ::oneop::sdk::AppendInt(&bn.append("_"), index);
    (*signature.mutable_bn_in_op2sbp_parallel())[bn] = SbpParallel(sbp);
  }
  void Build() override { *list->add_sbp_signature() = signature; }
  NamedSbpSink* Clone() const override { return new SbpListSink(*this); }
  List* list;
  std::decay_t<decltype(*std::declval<List>().add_sbp_signature())> signature;
};

// Collects one signature. What it is told nothing about stays unset, which the host reports.
class UserOpSbpSignatureBuilder {
 public:
  UserOpSbpSignatureBuilder(const oneop_frame* frame, oneop_sbp_sink* sink, oneop_status* status)
      : frame_(frame), sink_(sink), status_(status) {
    const size_t count = static_cast<size_t>(Count()) + 1;
    entries_ = static_cast<oneop_sbp*>(std::calloc(count, sizeof(oneop_sbp)));
    if (entries_ == nullptr) {
      throw std::bad_alloc();
    }
  }
  template <class List, class = decltype(std::declval<List>().add_sbp_signature())>
  explicit UserOpSbpSignatureBuilder(List* list) : named_(new SbpListSink<List>(list)) {}
  UserOpSbpSignatureBuilder(UserOpSbpSignatureBuilder&& other) noexcept
      : frame_(other.frame_),
        sink_(other.sink_),
        status_(other.status_),
        entries_(std::exchange(other.entries_, nullptr)),
        named_(std::exchange(other.named_, nullptr)) {}
  // A copy goes its own way from here.
  UserOpSbpSignatureBuilder(const UserOpSbpSignatureBuilder& other)
      : frame_(other.frame_), sink_(other.sink_), status_(other.status_) {
    if (other.named_ != nullptr) {
      named_ = other.named_->Clone();
      return;
    }
    const size_t bytes = sizeof(oneop_sbp) * (static_cast<size_t>(Count()) + 1);
    entries_ = static_cast<oneop_sbp*>(std::malloc(bytes));
    if (entries_ == nullptr) {
      throw std::bad_alloc();
    }
    std::memcpy(entries_, other.entries_, bytes);
  }
  UserOpSbpSignatureBuilder& operator=(UserOpSbpSignatureBuilder other) {
    std::swap(frame_, other.frame_);
    std::swap(sink_, other.sink_);
    std::swap(status_, other.status_);
    std::swap(entries_, other.entries_);
    std::swap(named_, other.named_);
    return *this;
  }
  ~UserOpSbpSignatureBuilder() {
    std::free(entries_);
    delete named_;
  }

  UserOpSbpSignatureBuilder& Split(const OpArg& arg, int64_t axis) {
    return Set(arg.name(), arg.index(), ONEOP_SBP_SPLIT, axis);
  }
  UserOpSbpSignatureBuilder& Broadcast(const OpArg& arg) {
    return Set(arg.name(), arg.index(), ONEOP_SBP_BROADCAST, 0);
  }
  UserOpSbpSignatureBuilder& PartialSum(const OpArg& arg) {
    return Set(arg.name(), arg.index(), ONEOP_SBP_PARTIAL_SUM, 0);
  }
  // A list of OpArg, or of (name, index) as ctx->inputs() gives it.
  template <class Args>
  UserOpSbpSignatureBuilder& Split(const Args& args, int64_t axis) {
    return SetAll(args, ONEOP_SBP_SPLIT, axis);
  }
  template <class Args>
  UserOpSbpSignatureBuilder& Broadcast(const Args& args) {
    return SetAll(args, ONEOP_SBP_BROADCAST, 0);
  }
  template <class Args>
  UserOpSbpSignatureBuilder& PartialSum(const Args& args) {
    return SetAll(args, ONEOP_SBP_PARTIAL_SUM, 0);
  }
  UserOpSbpSignatureBuilder& Split(std::initializer_list<OpArg> args, int64_t axis) {
    return SetAll(args, ONEOP_SBP_SPLIT, axis);
  }
  UserOpSbpSignatureBuilder& Broadcast(std::initializer_list<OpArg> args) {
    return SetAll(args, ONEOP_SBP_BROADCAST, 0);
  }
  UserOpSbpSignatureBuilder& PartialSum(std::initializer_list<OpArg> args) {
    return SetAll(args, ONEOP_SBP_PARTIAL_SUM, 0);
  }

  void Build() {
    if (named_ != nullptr) {
      return named_->Build();
    }
    if (const int32_t code = sink_->add(sink_, entries_, Count(), status_)) {
      throw code;
    }
  }

 private:
  int32_t Count() const { return frame_->num_input_tensors + frame_->num_output_tensors; }
  UserOpSbpSignatureBuilder& Set(std::string_view name, int32_t index, int32_t kind, int64_t axis) {
    if (named_ != nullptr) {
      named_->Set(name, index, {kind, static_cast<int32_t>(axis)});
      return *this;
    }
    const oneop_arg* arg = ::oneop::sdk::FindArg(frame_, name, ::oneop::sdk::kEither);
    if (arg != nullptr && arg->count == 0) {
      return *this;
    }  // an optional one that was not given
    entries_[::oneop::sdk::NeedTensor(frame_, name, index)] = {kind, static_cast<int32_t>(axis)};
    return *this;
  }
  template <class Args>
  UserOpSbpSignatureBuilder& SetAll(const Args& args, int32_t kind, int64_t axis) {
    for (const auto& arg : args) {
      if constexpr (std::is_same_v<std::decay_t<decltype(arg)>, OpArg>) {
        Set(arg.name(), arg.index(), kind, axis);
      } else {
        Set(arg.first, arg.second, kind, axis);
      }
    }
    return *this;
  }

  const oneop_frame* frame_ = nullptr;
  oneop_sbp_sink* sink_ = nullptr;
  oneop_status* status_ = nullptr;
  oneop_sbp* entries_ = nullptr;
  NamedSbpSink* named_ = nullptr;
};

class SbpContext : public ::oneop::sdk::Context {
 public:
  SbpContext(oneop_frame* frame, oneop_sbp_sink* sink, oneop_status* status)
      : Context(frame), sink_(sink), status_(status) {}
  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(std::string_view n, int32_t i) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, n, i, ::oneop::sdk::kInput)));
  }
  UserOpSbpSignatureBuilder NewBuilder() { return {frame_, sink_, status_}; }
  int64_t hierarchy_value() const { return frame_->parallel_num; }

 private:
  oneop_sbp_sink* sink_;
  oneop_status* status_;
};

struct GetSbpFnUtil {
  // The host adds the signature in which everything is broadcast by itself.
  static Maybe<void> DefaultBroadcastToBroadcast(SbpContext*) { return Maybe<void>::Ok(); }
  template <class Ctx>
  static Maybe<void> SplitForEachAxis(Ctx* ctx) {
    const auto axes = [ctx](const auto& arg) {
      return ctx->LogicalTensorDesc4InputArgNameAndIndex(arg.first, arg.second).shape().NumAxes();
    };
    const auto& inputs = ctx->inputs();
    if (inputs.empty()) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "GetSbpFnUtil::SplitForEachAxis: it has no input to be split";
    }
    const int64_t num_axes = axes(inputs[0]);
    for (const auto& input : inputs) {
      if (axes(input) != num_axes) {
        return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
               << "GetSbpFnUtil::SplitForEachAxis: all inputs "
               << "must have the same number of axes; \"" << inputs[0].first << "\" has "
               << num_axes << ", \"" << input.first << "\" has " << axes(input);
      }
    }
    for (int64_t axis = 0; axis != num_axes; ++axis) {
      ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
    }
    return Maybe<void>::Ok();
  }
};

// Chooses the SBP of every tensor from the hints about the inputs. What the author leaves alone is
// broadcast.
class InferNdSbpFnContext : public ::oneop::sdk::Context {
 public:
  using Context::Context;
  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(std::string_view n, int32_t i) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, n, i, ::oneop::sdk::kInput)));
  }
  NdSbp* NdSbp4ArgNameAndIndex(std::string_view name, int32_t index) {
    return Chosen(::oneop::sdk::NeedTensor(frame_, name, index));
  }
  const NdSbp& NdSbpHint4InputArgNameAndIndex(std::string_view name, int32_t index) const {
    const int32_t number = ::oneop::sdk::NeedTensor(frame_, name, index, ::oneop::sdk::kInput);
    return Keep<NdSbp>(Key(number, 2), frame_, number);
  }
  NdSbp* ParallelDistribution4ArgNameAndIndex(std::string_view name, int32_t index) {
    return NdSbp4ArgNameAndIndex(name, index);
  }
  const NdSbp& ParallelDistributionHint4InputArgNameAndIndex(std::string_view name,
                                                             int32_t index) const {
    return NdSbpHint4InputArgNameAndIndex(name, index);
  }
  // Nobody constrains the choice.
  template <class Signature = NdSbpSignature>
  const Signature& nd_sbp_constraints() const {
    return Keep<Signature>(&frame_->num_outputs);
  }
  template <class Signature = NdSbpSignature>
  const Signature& parallel_distribution_constraints() const {
    return nd_sbp_constraints<Signature>();
  }
  // The mesh: the ABI says how many dimensions it has, not how long each is.
  const Shape& parallel_hierarchy() const { return Keep<Shape>(Key(0, 3), Mesh()); }

  void OneopSend(oneop_sbp_sink* sink, oneop_status* status) {
    const int32_t dims = frame_->sbp_dims < 1 ? 1 : frame_->sbp_dims;
    const int32_t tensors = frame_->num_input_tensors + frame_->num_output_tensors;
    ::oneop::sdk::Arena arena;
    auto* entries = static_cast<oneop_sbp*>(arena.Allocate(sizeof(oneop_sbp) * tensors * dims));
    for (int32_t i = 0; i != tensors * dims; ++i) {
      const NdSbp* chosen = Chosen(i / dims);
      const bool is_set = i % dims < chosen->sbp_parallel_size();
      entries[i] = is_set ? chosen->sbp_parallel(i % dims).ToAbi() : oneop_sbp{};
    }
    const int32_t code = sink->add(sink, entries, tensors * dims, status);
    arena.Free();
    if (code != ONEOP_OK) {
      throw code;
    }
  }

 private:
  const void* Key(int32_t number, int salt) const {
    return reinterpret_cast<const char*>(::oneop::sdk::TensorAt(frame_, number)) + salt;
  }
  NdSbp* Chosen(int32_t number) const { return &Keep<NdSbp>(Key(number, 1), frame_, number); }
  Shape Mesh() const { return Shape({frame_->parallel_num}); }
};

using InferParallelDistributionFnContext = InferNdSbpFnContext;  // as 0.4 calls it

// Accepted so that sources which register such functions compile; the host has no use for what they
// decide.
class InferSbpSignatureFnContext;
class InferOutputBlobTimeShapeFnContext;
class BatchAxisContext;
class GetNdSbpSignatureListContext;

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_
