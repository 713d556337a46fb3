// arguments.cpp: optional and variadic inputs and outputs, attributes of every type, ops without
// inputs, in-place ops.
#include <sstream>

#include "common.h"

namespace oneflow {
namespace {

KERNEL(AddN, {
  T* out = Out<T>(ctx, "out");
  for (int64_t i = 0; i < Count(ctx, "out"); ++i) {
    out[i] = T(0);
  }
  for (int32_t k = 0; k < ctx->input_size("in"); ++k) {
    const T* in = In<T>(ctx, "in", k);
    for (int64_t i = 0; i < Count(ctx, "out"); ++i) {
      out[i] += in[i];
    }
  }
})
REGISTER_USER_OP("t_add_n").InputWithMinimum("in", 2).Output("out").SetTensorDescInferFn(
    [](InferContext* ctx) -> Maybe<void> {
      for (int32_t i = 1; i < ctx->input_size("in"); ++i) {
        CHECK_EQ_OR_RETURN(ctx->InputShape("in", i), ctx->InputShape("in", 0))
            << "input " << i << " differs";
      }
      return Maybe<void>::Ok();
    });
REGISTER_FOR("t_add_n", AddN, float, "in")
REGISTER_FOR("t_add_n", AddN, double, "in")
REGISTER_USER_OP_GRAD("t_add_n").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  for (int32_t i = 0; i < ctx->FwOp().input_size("in"); ++i) {
    ctx->FwOp().InputGradBind(OpArg("in", i), [&]() { return ctx->FwOp().output_grad("out", 0); });
  }
});

// y = x * scale + bias, both optional.
KERNEL(Affine, {
  const user_op::Tensor* scale = ctx->Tensor4ArgNameAndIndex("scale", 0);
  const user_op::Tensor* bias = ctx->Tensor4ArgNameAndIndex("bias", 0);
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    const T s = scale == nullptr ? T(1) : scale->dptr<T>()[i];
    const T b = bias == nullptr ? T(0) : bias->dptr<T>()[i];
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i] * s + b;
  }
})
REGISTER_USER_OP("t_affine")
    .Input("x")
    .OptionalInput("scale")
    .OptionalInput("bias")
    .Output("y")
    .NoGrad()
    .SetTensorDescInferFn(Same);
REGISTER_FOR("t_affine", Affine, float, "x")

// Two outputs; `low` is optional. The whole part has dtype int64 and no gradient.
KERNEL(Parts, {
  for (int64_t i = 0; i < Count(ctx, "whole"); ++i) {
    const T x = In<T>(ctx, "x")[i];
    Out<int64_t>(ctx, "whole")[i] = static_cast<int64_t>(std::floor(x));
    Out<T>(ctx, "rest")[i] = x - std::floor(x);
  }
})
Maybe<void> InferParts(InferContext* ctx) {
  *ctx->Dtype4ArgNameAndIndex("whole", 0) = DataType::kInt64;
  return Maybe<void>::Ok();
}
REGISTER_USER_OP("t_parts").Input("x").Output("whole").Output("rest").SetTensorDescInferFn(
    InferParts);
REGISTER_FOR("t_parts", Parts, float, "x")
REGISTER_FOR("t_parts", Parts, double, "x")
REGISTER_USER_OP_GRAD("t_parts").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  CHECK(!ctx->FwOp().HasGradTensor4OpOutput("whole", 0));
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->FwOp().output_grad("rest", 0); });
});

// n outputs, each x times its number + 1, and optionally their sum.
KERNEL(Multiples, {
  const T* x = In<T>(ctx, "x");
  user_op::Tensor* sum = ctx->Tensor4ArgNameAndIndex("sum", 0);
  for (int32_t k = 0; k < ctx->output_size("out"); ++k) {
    for (int64_t i = 0; i < Count(ctx, "x"); ++i) {
      Out<T>(ctx, "out", k)[i] = x[i] * T(k + 1);
      if (sum != nullptr) {
        sum->mut_dptr<T>()[i] = (k == 0 ? T(0) : sum->dptr<T>()[i]) + x[i] * T(k + 1);
      }
    }
  }
})
REGISTER_USER_OP("t_multiples")
    .Input("x")
    .OutputWithMinimum("out", 1)
    .OptionalOutput("sum")
    .SetTensorDescInferFn(Same);
REGISTER_FOR("t_multiples", Multiples, float, "x")
REGISTER_FOR("t_multiples", Multiples, double, "x")
REGISTER_USER_OP_GRAD("t_multiples").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  const auto& op = ctx->FwOp();
  ctx->DefineOp("grad", [&](BackwardOpBuilder& builder) {
    builder.OpTypeName("t_multiples_grad");
    for (int32_t k = 0; k < op.output_size("out"); ++k) {
      builder.InputBind("dout", op.output_grad("out", k));
    }
    if (op.has_output("sum", 0)) {
      builder.InputBind("dsum", op.output_grad("sum", 0));
    }
    return builder.Output("dx").Build();
  });
  op.InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("grad").output("dx", 0); });
});
KERNEL(MultiplesGrad, {
  const user_op::Tensor* dsum = ctx->Tensor4ArgNameAndIndex("dsum", 0);
  for (int64_t i = 0; i < Count(ctx, "dx"); ++i) {
    T dx = T(0);
    for (int32_t k = 0; k < ctx->input_size("dout"); ++k) {
      dx += T(k + 1) * (In<T>(ctx, "dout", k)[i] + (dsum == nullptr ? T(0) : dsum->dptr<T>()[i]));
    }
    Out<T>(ctx, "dx")[i] = dx;
  }
})
REGISTER_USER_OP("t_multiples_grad")
    .InputWithMinimum("dout", 1)
    .OptionalInput("dsum")
    .Output("dx")
    .SetTensorDescInferFn(Same);
REGISTER_FOR("t_multiples_grad", MultiplesGrad, float, "dout")
REGISTER_FOR("t_multiples_grad", MultiplesGrad, double, "dout")

// Every type of attribute, written out as text in the bytes of the output.
std::string Text(const Shape& shape) { return shape.DebugStr(); }
Maybe<void> InferBytes(InferContext* ctx) {
  *ctx->OutputShape("out", 0) = Shape({512});
  *ctx->OutputDType("out", 0) = DataType::kUInt8;
  return Maybe<void>::Ok();
}
KERNEL(AllAttrs, {
  std::ostringstream text;
  text << ctx->Attr<int32_t>("i32") << ' ' << ctx->Attr<int64_t>("i64") << ' '
       << ctx->Attr<bool>("b") << ' ' << ctx->Attr<float>("f") << ' ' << ctx->Attr<double>("d")
       << ' ' << ctx->Attr<std::string>("s") << ' ' << Text(ctx->Attr<Shape>("shape")) << ' '
       << static_cast<int>(ctx->Attr<DataType>("dtype"));
  for (int32_t v : ctx->Attr<std::vector<int32_t>>("i32s")) {
    text << " i" << v;
  }
  for (int64_t v : ctx->Attr<std::vector<int64_t>>("i64s")) {
    text << " l" << v;
  }
  for (float v : ctx->Attr<std::vector<float>>("fs")) {
    text << " f" << v;
  }
  for (DataType v : ctx->Attr<std::vector<DataType>>("dtypes")) {
    text << " t" << static_cast<int>(v);
  }
  for (const Shape& v : ctx->Attr<std::vector<Shape>>("shapes")) {
    text << ' ' << Text(v);
  }
  for (const std::string& v : ctx->Attr<std::vector<std::string>>("ss")) {
    text << " s" << v;
  }
  const std::string line = text.str();
  T* out = Out<T>(ctx, "out");
  for (size_t i = 0; i < 512; ++i) {
    out[i] = i < line.size() ? line[i] : 0;
  }
})
REGISTER_USER_OP("t_attrs")
    .Input("in")
    .Output("out")
    .Attr<int32_t>("i32", 1)
    .Attr<int64_t>("i64", int64_t{1} << 40)
    .Attr<bool>("b", true)
    .Attr<float>("f", 0.5)
    .Attr<double>("d", 0.1)
    .Attr<std::string>("s", "text")
    .Attr<Shape>("shape", Shape({2, 3}))
    .Attr<DataType>("dtype", DataType::kFloat)
    .Attr<std::vector<int32_t>>("i32s", {1, 2})
    .Attr<std::vector<int64_t>>("i64s", {int64_t{1} << 40})
    .Attr<std::vector<float>>("fs", {0.5, 1.5})
    .Attr<std::vector<DataType>>("dtypes", {DataType::kInt8, DataType::kDouble})
    .Attr<std::vector<Shape>>("shapes", {Shape({1}), Shape({2, 2})})
    .Attr<std::vector<std::string>>("ss", {"a", "b c"})
    .NoGrad()
    .SetTensorDescInferFn(InferBytes);
REGISTER_FOR("t_attrs", AllAttrs, uint8_t, "out")

// No inputs: shape, dtype and device are given.
KERNEL(Range, {
  for (int64_t i = 0; i < Count(ctx, "out"); ++i) {
    Out<T>(ctx, "out")[i] = T(i) * ctx->Attr<double>("step");
  }
})
REGISTER_USER_OP("t_range")
    .Output("out")
    .Attr("shape", UserOpAttrType::kAtShape)
    .Attr<DataType>("dtype", DataType::kFloat)
    .Attr<double>("step", 1)
    .SetTensorDescInferFn([](InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("out", 0) = ctx->Attr<Shape>("shape");
      *ctx->OutputDType("out", 0) = ctx->Attr<DataType>("dtype");
      return Maybe<void>::Ok();
    });
REGISTER_FOR("t_range", Range, float, "out")
REGISTER_FOR("t_range", Range, double, "out")

// total += x, in place; the output is x times the new total.
KERNEL(Accumulate, {
  T* total = Out<T>(ctx, "total");
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    total[i] += In<T>(ctx, "x")[i];
    Out<T>(ctx, "y")[i] = 2 * In<T>(ctx, "x")[i];
  }
})
REGISTER_USER_OP("t_accumulate")
    .Input("x")
    .Input("total")
    .Output("y")
    .SetTensorDescInferFn(Same)
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      auto* total = get("total", 0);
      total->set_is_mutable(true);
      total->set_requires_grad(false);
    });
REGISTER_FOR("t_accumulate", Accumulate, float, "x")
REGISTER_USER_OP_GRAD("t_accumulate").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  ctx->DefineOp("twice", [&](BackwardOpBuilder& builder) {
    const std::string dy = ctx->FwOp().output_grad("y", 0);
    return builder.OpTypeName("t_add_n")
        .InputBind("in", dy)
        .InputBind("in", dy)
        .Output("out")
        .Build();
  });
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("twice").output("out", 0); });
});

// Only `x` is differentiable; and only `y`.
KERNEL(Pick, {
  for (int64_t i = 0; i < Count(ctx, "y"); ++i) {
    Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i] * In<T>(ctx, "mask")[i];
    Out<T>(ctx, "count")[i] = In<T>(ctx, "mask")[i];
  }
})
REGISTER_USER_OP("t_pick")
    .Input("x")
    .Input("mask")
    .Output("y")
    .Output("count")
    .SetTensorDescInferFn(Same)
    .SetInputArgModifyFn([](user_op::GetInputArgModifier get, const user_op::UserOpConfWrapper&) {
      get("mask", 0)->set_requires_grad(false);
    })
    .SetOutputArgModifyFn([](user_op::GetOutputArgModifier get,
                             const user_op::UserOpConfWrapper&) -> Maybe<void> {
      get("count", 0)->set_requires_grad(false);
      return Maybe<void>::Ok();
    });
REGISTER_FOR("t_pick", Pick, float, "x")
REGISTER_USER_OP_GRAD("t_pick").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
  ctx->DefineOp("grad", [&](BackwardOpBuilder& builder) {
    return builder.OpTypeName("t_multiply")
        .InputBind("in", ctx->FwOp().output_grad("y", 0))
        .InputBind("by", ctx->FwOp().input("mask", 0))
        .Output("out")
        .Build();
  });
  ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("grad").output("out", 0); });
});

}  // namespace
}  // namespace oneflow
