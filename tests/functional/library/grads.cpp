#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"

namespace oneflow::one {

struct LeakyState : public AutoGradCaptureState {
  bool requires_grad = false;
  float alpha = 0;
};

class LeakyGrad : public OpExprGradFunction<LeakyState> {
 public:
  Maybe<void> Init(const OpExpr& op) override {
    const auto* fw_op_expr = dynamic_cast<const UserOpExpr*>(&op);
    CHECK_NOTNULL_OR_RETURN(fw_op_expr);
    base_attrs_ = MakeAttrMapFromUserOpConf(fw_op_expr->proto());
    return Maybe<void>::Ok();
  }
  Maybe<void> Capture(LeakyState* ctx, const TensorTuple& inputs, const TensorTuple& outputs,
                      const AttrMap& attrs) const override {
    ctx->requires_grad = inputs.at(0)->requires_grad();
    CHECK_EQ_OR_RETURN(*inputs.at(0)->shape(), *outputs.at(0)->shape());
    ComposedAttrMap composed_attrs(attrs, base_attrs_);
    ctx->alpha = JUST(composed_attrs.GetAttr<float>("alpha"));
    ctx->SaveTensorForBackward(inputs.at(0));
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const LeakyState* ctx, const TensorTuple& out_grads,
                    TensorTuple* in_grads) const override {
    in_grads->resize(1);
    const auto& x = ctx->SavedTensors().at(0);
    // Not a functor: derived from the op, and recorded.
    in_grads->at(0) = JUST(functional::FnLeakyGrad(x, out_grads.at(0), ctx->alpha));
    return Maybe<void>::Ok();
  }

 private:
  AttrMap base_attrs_;
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_leaky", LeakyGrad);

// Gives no gradient at all; the other registration of fn_both wins.
class NoneGrad : public OpExprGradFunction<AutoGradCaptureState> {
 public:
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(AutoGradCaptureState*, const TensorTuple&, const TensorTuple&,
                      const AttrMap&) const override {
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const AutoGradCaptureState*, const TensorTuple&, TensorTuple*) const override {
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_both", NoneGrad);
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_leaky_grad", NoneGrad);

}  // namespace oneflow::one

namespace oneflow {

REGISTER_USER_OP_GRAD("fn_both").SetBackwardOpConfGenFn(
    [](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0),
                                [&]() -> std::string { return ctx->FwOp().output_grad("y", 0); });
      return Maybe<void>::Ok();
    });

}  // namespace oneflow
