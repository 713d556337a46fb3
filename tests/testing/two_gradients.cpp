// two_gradients.cpp: ops with both kinds of gradient, which agree or differ as the names say.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"

namespace oneflow {
namespace {

using user_op::OpArg;

template <class T>
class Product final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const T* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
    const T* w = ctx->Tensor4ArgNameAndIndex("w", 0)->dptr<T>();
    auto* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    for (int64_t i = 0; i != y->shape_view().elem_cnt(); ++i) {
      y->mut_dptr<T>()[i] = x[i] * w[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

Maybe<void> InferProduct(user_op::InferContext* ctx) {
  CHECK_EQ_OR_RETURN(ctx->InputShape("x", 0), ctx->InputShape("w", 0));
  CHECK_EQ_OR_RETURN(ctx->InputDType("x", 0), ctx->InputDType("w", 0));
  return user_op::TensorDescInferFnUtil::Unchanged(ctx);
}

// The gradient of y = x * w, for graphs. Its backward op is the product itself.
Maybe<void> GenerateProduct(user_op::BackwardOpConfContext* ctx, const char* op) {
  for (const auto& [input, other] : {std::pair<const char*, const char*>{"x", "w"}, {"w", "x"}}) {
    const std::string name = ctx->FwOp().op_name() + "_grad_" + input;
    ctx->DefineOp(name, [&](user_op::BackwardOpBuilder& builder) {
      return builder.OpTypeName(op)
          .InputBind("x", ctx->FwOp().output_grad("y", 0))
          .InputBind("w", ctx->FwOp().input(other, 0))
          .Output("y")
          .Build();
    });
    ctx->FwOp().InputGradBind(
        OpArg(input, 0), [&]() -> const std::string& { return ctx->GetOp(name).output("y", 0); });
  }
  return Maybe<void>::Ok();
}

#define PRODUCT(name)                                                                              \
  REGISTER_USER_OP(name).Input("x").Input("w").Output("y").SetTensorDescInferFn(InferProduct);     \
  REGISTER_USER_KERNEL(name).SetCreateFn<Product<float>>().SetIsMatchedHob(                        \
      (user_op::HobDeviceType() == DeviceType::kCPU) && (user_op::HobDataType("x", 0) == kFloat)); \
  REGISTER_USER_KERNEL(name).SetCreateFn<Product<double>>().SetIsMatchedHob(                       \
      (user_op::HobDeviceType() == DeviceType::kCPU) &&                                            \
      (user_op::HobDataType("x", 0) == kDouble));                                                  \
  REGISTER_USER_OP_GRAD(name).SetBackwardOpConfGenFn(                                              \
      [](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {                                     \
        return GenerateProduct(ctx, name);                                                         \
      });

PRODUCT("two_that_agree")
PRODUCT("two_that_differ")
PRODUCT("second_gives_none")
PRODUCT("second_forgets_flags")

}  // namespace

namespace one {
namespace {

using State = AutoGradCaptureState;

class ProductGrad : public OpExprGradFunction<State> {
 public:
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(State* ctx, const TensorTuple& inputs, const TensorTuple&,
                      const AttrMap&) const override {
    ctx->SaveTensorForBackward(inputs.at(0));
    ctx->SaveTensorForBackward(inputs.at(1));
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    dxs->resize(2);
    for (int i = 0; i != 2; ++i) {
      if (ctx->input_requires_grad.at(i)) {
        (*dxs)[i] = JUST(Grad(ctx->SavedTensors().at(1 - i), dys.at(0), i));
      }
    }
    return Maybe<void>::Ok();
  }

 protected:
  using TensorPtr = std::shared_ptr<Tensor>;
  virtual Maybe<Tensor> Grad(const TensorPtr& other, const TensorPtr& dy, int) const {
    return functional::Call("aten::mul.Tensor", other, dy);
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("two_that_agree", ProductGrad);

class HalfTooMuch final : public ProductGrad {
  Maybe<Tensor> Grad(const TensorPtr& other, const TensorPtr& dy, int i) const override {
    const TensorPtr grad = JUST(functional::Call("aten::mul.Tensor", other, dy));
    return i == 0 ? Maybe<Tensor>(grad) : functional::Call("aten::add.Scalar", grad, 0.5);
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("two_that_differ", HalfTooMuch);

class None final : public ProductGrad {
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    JUST(ProductGrad::Apply(ctx, dys, dxs));
    (*dxs)[1] = nullptr;
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("second_gives_none", None);

// Right where both inputs need a gradient, and wrong where one alone does.
class ForgetsFlags final : public ProductGrad {
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    JUST(ProductGrad::Apply(ctx, dys, dxs));
    if (!ctx->input_requires_grad.at(0)) {
      (*dxs)[1] = dys.at(0);
    }
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("second_forgets_flags", ForgetsFlags);

}  // namespace
}  // namespace one
}  // namespace oneflow
