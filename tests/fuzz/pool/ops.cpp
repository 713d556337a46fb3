// Ops in C++ for random programs: attributes, optional and variadic inputs, several outputs, in
// place; and functors that call them.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_builder.h"
#include "oneflow/core/functional/functional.h"
#include "oneflow/core/functional/impl/common.h"

namespace oneflow {
namespace {

const float* In(user_op::KernelComputeContext* ctx, const char* name, int32_t i = 0) {
  return ctx->Tensor4ArgNameAndIndex(name, i)->dptr<float>();
}
float* Out(user_op::KernelComputeContext* ctx, const char* name) {
  return ctx->Tensor4ArgNameAndIndex(name, 0)->mut_dptr<float>();
}
int64_t Count(user_op::KernelComputeContext* ctx, const char* name) {
  return ctx->Tensor4ArgNameAndIndex(name, 0)->shape_view().elem_cnt();
}

// y = by * (x + w) + k
REGISTER_USER_OP("fzc_affine")
    .Input("x")
    .OptionalInput("w")
    .Output("y")
    .Attr<float>("by", 1.5f)
    .Attr<int64_t>("k", 0)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
class Affine final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const float* w = ctx->has_input("w", 0) ? In(ctx, "w") : nullptr;
    const float by = ctx->Attr<float>("by");
    const auto k = static_cast<float>(ctx->Attr<int64_t>("k"));
    for (int64_t i = 0; i < Count(ctx, "x"); ++i) {
      Out(ctx, "y")[i] = by * (In(ctx, "x")[i] + (w ? w[i] : 0.0f)) + k;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fzc_affine").SetCreateFn<Affine>();
REGISTER_USER_OP_GRAD("fzc_affine")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
      ctx->DefineOp("scaled", [&](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("fzc_affine")
            .InputBind("x", ctx->FwOp().output_grad("y", 0))
            .Output("y")
            .Attr("by", ctx->FwOp().attr<float>("by"))
            .Attr("k", int64_t{0})
            .Build();
      });
      const auto grad = [&]() -> const std::string& { return ctx->GetOp("scaled").output("y", 0); };
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), grad);
      if (ctx->FwOp().user_op_conf().has_input("w", 0)) {
        ctx->FwOp().InputGradBind(user_op::OpArg("w", 0), grad);
      }
      return Maybe<void>::Ok();
    });

// Sums of prefixes of each row, backwards if asked: it mixes along the last axis.
REGISTER_USER_OP("fzc_prefix")
    .Input("x")
    .Output("y")
    .Attr<bool>("reverse", false)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
class Prefix final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto& shape = ctx->Tensor4ArgNameAndIndex("x", 0)->shape_view();
    const int64_t n = shape.NumAxes() == 0 ? 1 : shape.At(shape.NumAxes() - 1);
    const int64_t rows = n == 0 ? 0 : shape.elem_cnt() / n;
    const bool reverse = ctx->Attr<bool>("reverse");
    for (int64_t r = 0; r < rows; ++r) {
      float sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t at = r * n + (reverse ? n - 1 - i : i);
        sum += In(ctx, "x")[at];
        Out(ctx, "y")[at] = sum;
      }
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fzc_prefix").SetCreateFn<Prefix>();
REGISTER_USER_OP_GRAD("fzc_prefix")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
      ctx->DefineOp("back", [&](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("fzc_prefix")
            .InputBind("x", ctx->FwOp().output_grad("y", 0))
            .Output("y")
            .Attr("reverse", !ctx->FwOp().attr<bool>("reverse"))
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&]() -> const std::string& {
        return ctx->GetOp("back").output("y", 0);
      });
      return Maybe<void>::Ok();
    });

// Two outputs from a list: the sum, and the sum of the first and the last.
REGISTER_USER_OP("fzc_sums")
    .InputWithMinimum("xs", 1)
    .Output("all")
    .Output("ends")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      for (const char* name : {"all", "ends"}) {
        *ctx->Shape4ArgNameAndIndex(name, 0) = *ctx->Shape4ArgNameAndIndex("xs", 0);
        *ctx->Dtype4ArgNameAndIndex(name, 0) = *ctx->Dtype4ArgNameAndIndex("xs", 0);
      }
      return Maybe<void>::Ok();
    })
    .NoGrad();
class Sums final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto count = static_cast<int32_t>(ctx->input_size("xs"));
    for (int64_t i = 0; i < Count(ctx, "all"); ++i) {
      float sum = 0;
      for (int32_t k = 0; k < count; ++k) {
        sum += In(ctx, "xs", k)[i];
      }
      Out(ctx, "all")[i] = sum;
      Out(ctx, "ends")[i] = In(ctx, "xs", 0)[i] + In(ctx, "xs", count - 1)[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fzc_sums").SetCreateFn<Sums>();

}  // namespace

namespace one::functional {
namespace impl {

// by * (x + y), then the sums of prefixes.
class Mix {
 public:
  Mix() {
    affine_ = CHECK_JUST(one::OpBuilder("fzc_affine").Input("x").Input("w").Output("y").Build());
    prefix_ = CHECK_JUST(one::OpBuilder("fzc_prefix").Input("x").Output("y").Build());
  }
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& y,
                           double by) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<float>("by", static_cast<float>(by)));
    JUST(attrs.SetAttr<int64_t>("k", 0));
    const auto sum = JUST(OpInterpUtil::Dispatch<Tensor>(*affine_, {x, y}, attrs));
    MutableAttrMap forwards;
    JUST(forwards.SetAttr<bool>("reverse", false));
    return OpInterpUtil::Dispatch<Tensor>(*prefix_, {sum}, forwards);
  }

 private:
  std::shared_ptr<OpExpr> affine_;
  std::shared_ptr<OpExpr> prefix_;
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) { m.add_functor<impl::Mix>("FuzzMix"); }

}  // namespace one::functional
}  // namespace oneflow
