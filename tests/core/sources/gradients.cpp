// gradients.cpp: gradients that are lazy, look at shapes, or are wrong.
#include <atomic>

#include "common.h"

namespace oneflow {
namespace {

KERNEL(Copy, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i];
  }
})
REGISTER_USER_OP("t_copy").Input("x").Output("y").SetTensorDescInferFn(Same);
REGISTER_FOR("t_copy", Copy, float, "x")

// y = a + b. The gradients are copies by ops that count: which ones ran is to be seen in t_tally.
std::atomic<int64_t> tally[3];
KERNEL(Tallied, {
  ++tally[ctx->Attr<int64_t>("which")];
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i];
  }
})
REGISTER_USER_OP("t_tallied")
    .Input("x")
    .Output("y")
    .Attr<int64_t>("which", 0)
    .SetTensorDescInferFn(Same);
REGISTER_FOR("t_tallied", Tallied, float, "x")
KERNEL(Tally, {
  for (int i = 0; i < 3; ++i) {
    Out<int64_t>(ctx, "y")[i] = tally[i];
  }
})
REGISTER_USER_OP("t_tally").Output("y").NoGrad().SetTensorDescInferFn(
    [](InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("y", 0) = Shape({3});
      *ctx->OutputDType("y", 0) = DataType::kInt64;
      return Maybe<void>::Ok();
    });
REGISTER_FOR("t_tally", Tally, int64_t, "y")
KERNEL(Add, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "a")[i] + In<T>(ctx, "b")[i];
  }
})
REGISTER_USER_OP("t_tally_add").Input("a").Input("b").Output("y").SetTensorDescInferFn(Same);
REGISTER_FOR("t_tally_add", Add, float, "a")
REGISTER_USER_OP_GRAD("t_tally_add").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  const auto define = [ctx](const char* name, int64_t which) {
    ctx->DefineOp(name, [ctx, which](BackwardOpBuilder& builder) {
      return builder.OpTypeName("t_tallied")
          .InputBind("x", ctx->FwOp().output_grad("y", 0))
          .Attr("which", which)
          .Output("y")
          .Build();
    });
  };
  define("a", 0);
  define("b", 1);
  define("never", 2);
  for (const char* name : {"a", "b"}) {
    ctx->FwOp().InputGradBind(OpArg(name, 0), [&]() { return ctx->GetOp(name).output("y", 0); });
  }
});

// The gradient is scaled by a number that the generator reads off the shape: dy * numel(x).
KERNEL(Scale, {
  const T by = static_cast<T>(ctx->Attr<double>("by"));
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i] * by;
  }
})
REGISTER_USER_OP("t_scale").Input("x").Output("y").Attr<double>("by", 1).SetTensorDescInferFn(Same);
REGISTER_FOR("t_scale", Scale, float, "x")
REGISTER_USER_OP("t_by_shape").Input("x").Output("y").SetTensorDescInferFn(Same);
REGISTER_FOR("t_by_shape", Copy, float, "x")
REGISTER_USER_OP_GRAD("t_by_shape").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  const double count = ctx->FwOp().arg_tensor_desc("x", 0).shape().elem_cnt();
  ctx->DefineOp("scale", [&](BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_scale")
        .InputBind("x", ctx->FwOp().output_grad("y", 0))
        .Attr("by", count)
        .Output("y")
        .Build();
  });
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("scale").output("y", 0); });
});

// Wrong in one way each. `how` tells which.
REGISTER_USER_OP("t_wrong")
    .Input("x")
    .Output("y")
    .Output("n")
    .Attr<std::string>("how", "")
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      *ctx->OutputDType("n", 0) = DataType::kInt64;
      return Maybe<void>::Ok();
    });
KERNEL(Wrong, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i];
  }
})
REGISTER_FOR("t_wrong", Wrong, float, "x")
REGISTER_USER_OP_GRAD("t_wrong").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx)
                                                            -> Maybe<void> {
  const auto& op = ctx->FwOp();
  const std::string how = op.attr<std::string>("how");
  CHECK_NE_OR_RETURN(how, "check") << "told to fail";
  ctx->DefineOp("grad", [&](BackwardOpBuilder& builder) {
    builder.OpTypeName(how == "op" ? "t_scael" : "t_scale");
    builder.InputBind(how == "input" ? "X" : "x", how == "blob"        ? std::string("nothing")
                                                  : how == "undefined" ? op.output_grad("n", 0)
                                                                       : op.output_grad("y", 0));
    if (how == "attr") {
      builder.Attr("bye", 1.0);
    }
    if (how == "type") {
      builder.Attr("by", std::string("1"));
    }
    if (how == "needed") {
      builder.OpTypeName("t_needs");
    }
    return builder.Output(how == "output" ? "dx" : "y").Build();
  });
  if (how == "unbound") {
    return Maybe<void>::Ok();
  }
  if (how == "argument") {
    op.InputGradBind(OpArg("z", 0), [&]() { return op.output_grad("y", 0); });
  }
  op.InputGradBind(OpArg("x", 0),
                   [&]() { return ctx->GetOp("grad").output(how == "output" ? "dx" : "y", 0); });
  return Maybe<void>::Ok();
});
REGISTER_USER_OP("t_needs")
    .Input("x")
    .Output("y")
    .Attr("by", UserOpAttrType::kAtDouble)
    .SetTensorDescInferFn(Same);

}  // namespace
}  // namespace oneflow
