// SbpContext, in which an op says how it can be split over devices.
#ifndef ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_
#define ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_

#include "oneflow/core/framework/user_op_conf.h"

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

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
  UserOpSbpSignatureBuilder(UserOpSbpSignatureBuilder&& other) noexcept
      : frame_(other.frame_), sink_(other.sink_), status_(other.status_), entries_(other.entries_) {
    other.entries_ = nullptr;
  }
  ~UserOpSbpSignatureBuilder() { std::free(entries_); }

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
    if (const int32_t code = sink_->add(sink_, entries_, Count(), status_)) {
      throw code;
    }
  }

 private:
  int32_t Count() const { return frame_->num_input_tensors + frame_->num_output_tensors; }
  UserOpSbpSignatureBuilder& Set(std::string_view name, int32_t index, int32_t kind, int64_t axis) {
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

  const oneop_frame* frame_;
  oneop_sbp_sink* sink_;
  oneop_status* status_;
  oneop_sbp* entries_;
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
    const auto& first = ctx->inputs().at(0);
    const int64_t num_axes =
        ctx->LogicalTensorDesc4InputArgNameAndIndex(first.first, first.second).shape().NumAxes();
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

// Accepted so that sources which register such functions compile; the host has no use for what they
// decide.
class InferSbpSignatureFnContext;
class InferOutputBlobTimeShapeFnContext;
class BatchAxisContext;
class ComputeComplexityFnContext;
class GetNdSbpSignatureListContext;

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_SBP_CONTEXT_H_
