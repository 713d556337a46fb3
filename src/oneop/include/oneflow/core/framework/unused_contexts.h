// Contexts of functions that the registry accepts and does not keep: time shapes and lists of
// signatures speak to OneFlow's scheduler. They are whole classes, so that what authors write about
// them compiles and links.
#ifndef ONEFLOW_CORE_FRAMEWORK_UNUSED_CONTEXTS_H_
#define ONEFLOW_CORE_FRAMEWORK_UNUSED_CONTEXTS_H_

#include <vector>

#include "oneflow/core/framework/batch_axis_context.h"
#include "oneflow/core/job/nd_sbp_util.h"

namespace oneflow ONEOP_HIDDEN {

class OperatorConf {
 public:
  template <class T>
  T& OneopMessage() {
    static_assert(sizeof(T) == 0,
                  "OperatorConf is a protobuf message of OneFlow's, not served here");
  }
};

namespace user_op {

class InferOutputBlobTimeShapeFnContext : public UnusedContext {
 public:
  using UnusedContext::UnusedContext;
  const Shape& TimeShape4InputArgNameAndIndex(std::string_view name, int32_t index) const {
    return *Of<Shape>(name, index, 1);
  }
  Shape* mut_output_blob_time_shape() { return &Keep<Shape>(&frame_->num_outputs); }
};

class InferSbpSignatureFnContext : public UnusedContext {
 public:
  using UnusedContext::UnusedContext;
  SbpSignature* mutable_sbp_signature() { return &Keep<SbpSignature>(&frame_->num_outputs); }
  const SbpSignature& sbp_signature_conf() const { return Keep<SbpSignature>(&frame_->num_inputs); }
  const SbpParallel& SbpParallelHint4InputArgNameAndIndex(std::string_view n, int32_t i) const {
    return NdSbp4ArgNameAndIndex(n, i).sbp_parallel(0);
  }
};

class GetNdSbpSignatureListContext : public UnusedContext {
 public:
  using UnusedContext::UnusedContext;
  void AddNdSbpSignature(const NdSbpSignature& signature) {
    MutNdSbpSignatureList()->push_back(signature);
  }
  std::vector<NdSbpSignature>* MutNdSbpSignatureList() {
    return &Keep<std::vector<NdSbpSignature>>(&frame_->num_outputs);
  }
};

// A source op is split as its attribute nd_sbp says; without one, as `otherwise`.
inline Maybe<void> InferNdSbp4SrcOp(InferNdSbpFnContext* ctx, const SbpParallel& otherwise) {
  const auto& list = ctx->user_op_conf().attr<std::vector<std::string>>("nd_sbp");
  const int64_t dims = ctx->parallel_hierarchy().NumAxes();
  const auto fill = [&](NdSbp* nd_sbp, bool is_output) -> Maybe<void> {
    nd_sbp->clear_sbp_parallel();
    if (is_output && !list.empty()) {
      CHECK_EQ_OR_RETURN(static_cast<int64_t>(list.size()), dims);
      CHECK_OR_RETURN(ParseNdSbpFromStringList(list, nd_sbp)) << "nd_sbp is none";
      return Maybe<void>::Ok();
    }
    for (int64_t i = 0; i != dims; ++i) {
      if (is_output) {
        *nd_sbp->add_sbp_parallel() = otherwise;
      } else {
        nd_sbp->add_sbp_parallel()->mutable_broadcast_parallel();
      }
    }
    return Maybe<void>::Ok();
  };
  for (const auto& in : ctx->inputs()) {
    JUST(fill(ctx->NdSbp4ArgNameAndIndex(in.first, in.second), false));
  }
  for (const auto& out : ctx->outputs()) {
    JUST(fill(ctx->NdSbp4ArgNameAndIndex(out.first, out.second), true));
  }
  return Maybe<void>::Ok();
}

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_UNUSED_CONTEXTS_H_
