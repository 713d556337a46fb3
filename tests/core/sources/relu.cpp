// relu.cpp: leaky relu with a gradient that has one itself.
#include <cmath>

#include "common.h"
#include "oneflow/core/thread/thread_manager.h"

namespace oneflow {
namespace {

KERNEL(Relu, {
  const float alpha = ctx->Attr<float>("alpha");
  const T* x = In<T>(ctx, "x");
  T* y = Out<T>(ctx, "y");
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    y[i] = x[i] > T(0) ? x[i] : static_cast<T>(alpha * x[i]);
  }
})
KERNEL(ReluGrad, {
  const float alpha = ctx->Attr<float>("alpha");
  const T* x = In<T>(ctx, "x");
  const T* dy = In<T>(ctx, "dy");
  T* dx = Out<T>(ctx, "dx");
  for (int64_t i = 0; i < Count(ctx, "dx"); ++i) {
    dx[i] = x[i] > T(0) ? dy[i] : static_cast<T>(alpha * dy[i]);
  }
})
KERNEL(ParallelRelu, {
  const float alpha = ctx->Attr<float>("alpha");
  const T* x = In<T>(ctx, "x");
  T* y = Out<T>(ctx, "y");
  MultiThreadLoop(Count(ctx, "y"), [=](int64_t i) { y[i] = x[i] > 0 ? x[i] : alpha * x[i]; });
})

Maybe<void> DxLikeX(InferContext* ctx) {
  CHECK_EQ_OR_RETURN(ctx->InputShape("x", 0), ctx->InputShape("dy", 0)) << "x and dy differ";
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("t_relu")
    .Input("x")
    .Output("y")
    .Attr<float>("alpha", 0.5)
    .SetTensorDescInferFn(Same);
REGISTER_USER_OP("t_relu_grad")
    .Input("x")
    .Input("dy")
    .Output("dx")
    .Attr<float>("alpha", 0.5)
    .SetTensorDescInferFn(DxLikeX);
REGISTER_USER_OP("t_parallel_relu")
    .Input("x")
    .Output("y")
    .Attr<float>("alpha", 0.5)
    .NoGrad()
    .SetTensorDescInferFn(Same);

#define RELU_FOR(T)                    \
  REGISTER_FOR("t_relu", Relu, T, "x") \
  REGISTER_FOR("t_relu_grad", ReluGrad, T, "x")
RELU_FOR(float)
RELU_FOR(double)
RELU_FOR(float16)
RELU_FOR(bfloat16)
RELU_FOR(int32_t)
RELU_FOR(int64_t)
RELU_FOR(int8_t)
REGISTER_FOR("t_parallel_relu", ParallelRelu, float, "x")

REGISTER_USER_OP_GRAD("t_relu").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  ctx->DefineOp("grad", [&](BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_relu_grad")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Attr("alpha", ctx->FwOp().attr<float>("alpha"))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("grad").output("dx", 0); });
});
// Piecewise linear: the gradient of x is zero, that of dy is the same function again.
REGISTER_USER_OP_GRAD("t_relu_grad").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  const auto& op = ctx->FwOp();
  ctx->DefineOp("ddy", [&](BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_relu_grad")
        .InputBind("x", op.input("x", 0))
        .InputBind("dy", op.output_grad("dx", 0))
        .Attr("alpha", op.attr<float>("alpha"))
        .Output("dx")
        .Build();
  });
  ctx->DefineOp("ddx", [&](BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_zeros_like").InputBind("x", op.input("x", 0)).Output("y").Build();
  });
  op.InputGradBind(OpArg("dy", 0), [&]() { return ctx->GetOp("ddy").output("dx", 0); });
  op.InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("ddx").output("y", 0); });
});

KERNEL(Zeros, {
  T* y = Out<T>(ctx, "y");
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    y[i] = T(0);
  }
})
REGISTER_USER_OP("t_zeros_like").Input("x").Output("y").NoGrad().SetTensorDescInferFn(Same);
REGISTER_FOR("t_zeros_like", Zeros, float, "x")
REGISTER_FOR("t_zeros_like", Zeros, double, "x")

// Products have a gradient that needs one input for the other, and themselves for any order.
KERNEL(Multiply, {
  const T* a = In<T>(ctx, "in");
  const T* b = In<T>(ctx, "by");
  T* y = Out<T>(ctx, "out");
  for (int64_t i = 0; i < Count(ctx, "out"); ++i) {
    y[i] = a[i] * b[i];
  }
})
REGISTER_USER_OP("t_multiply")
    .Input("in")
    .Input("by")
    .Output("out")
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      CHECK_EQ_OR_RETURN(ctx->InputShape("in", 0), ctx->InputShape("by", 0))
          << "shapes must be equal";
      return Maybe<void>::Ok();
    });
REGISTER_FOR("t_multiply", Multiply, float, "in")
REGISTER_FOR("t_multiply", Multiply, double, "in")
REGISTER_USER_OP_GRAD("t_multiply")
    .SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) -> Maybe<void> {
      const auto& op = ctx->FwOp();
      for (const char* name : {"in", "by"}) {
        const std::string other = std::string(name) == "in" ? "by" : "in";
        ctx->DefineOp(name, [&op, other](BackwardOpBuilder& builder) {
          return builder.OpTypeName("t_multiply")
              .InputBind("in", op.output_grad("out", 0))
              .InputBind("by", op.input(other, 0))
              .Output("out")
              .Build();
        });
        op.InputGradBind(OpArg(name, 0), [&, name]() { return ctx->GetOp(name).output("out", 0); });
      }
      return Maybe<void>::Ok();
    });

// The square: its gradient op has none. Saves its output, for the sake of it: dx = 2 * dy * sqrt(y)
// for x > 0.
KERNEL(Square, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i] * In<T>(ctx, "x")[i];
  }
})
KERNEL(SquareGrad, {
  const T* y = In<T>(ctx, "y");
  for (int64_t i = 0; i < Count(ctx, "dx"); ++i) {
    Out<T>(ctx, "dx")[i] = 2 * std::sqrt(y[i]) * In<T>(ctx, "dy")[i];
  }
})
REGISTER_USER_OP("t_square").Input("x").Output("y").SetTensorDescInferFn(Same);
REGISTER_USER_OP("t_square_grad").Input("y").Input("dy").Output("dx").SetTensorDescInferFn(Same);
REGISTER_FOR("t_square", Square, double, "x")
REGISTER_FOR("t_square", Square, float, "x")
REGISTER_FOR("t_square_grad", SquareGrad, double, "y")
REGISTER_FOR("t_square_grad", SquareGrad, float, "y")
// The form of 2019.
REGISTER_USER_OP_GRAD("t_square")
    .SetGenBackwardOpConfFn([](const user_op::UserOpWrapper& op, user_op::AddOpFn AddOp) {
      if (!op.NeedGenGradTensor4OpInput("x", 0)) {
        return;
      }
      user_op::UserOpConfWrapperBuilder builder(op.op_name() + "_grad");
      const user_op::UserOpConfWrapper grad_op =
          builder.Op("t_square_grad")
              .Input("y", op.output("y", 0))
              .Input("dy", op.GetGradTensorWithOpOutput("y", 0))
              .Output("dx")
              .Build();
      op.BindGradTensorWithOpInput(grad_op.output("dx", 0), "x", 0);
      AddOp(grad_op);
    });

}  // namespace
}  // namespace oneflow
