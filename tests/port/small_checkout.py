"""A checkout as OneFlow's is laid out, with an op of our own: a definition, a source, kernels, a header, a gradient."""

from pathlib import Path

DEFINITIONS = """
def OneFlow_SquareOp : OneFlow_BaseOp<"square", [NoSideEffect]> {
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
  let has_logical_tensor_desc_infer_fn = 1;
  let has_data_type_infer_fn = 1;
}
def OneFlow_SquareGradOp : OneFlow_BaseOp<"square_grad", [NoSideEffect, NoGrad]> {
  let input = (ins OneFlow_Tensor:$x, OneFlow_Tensor:$dy);
  let output = (outs OneFlow_Tensor:$dx);
  let has_logical_tensor_desc_infer_fn = 1;
  let has_data_type_infer_fn = 1;
}
def OneFlow_AbsentOp : OneFlow_BaseOp<"absent", []> {
  let attrs = (ins DefaultValuedAttr<F64Attr, "2.">:$factor, OptionalAttr<SI32Attr>:$unused, StrAttr:$text);
  let input = (ins OneFlow_Tensor:$x);
  let output = (outs OneFlow_Tensor:$y);
  let has_logical_tensor_desc_infer_fn = 1;
}
"""
OPS = """
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_generated.h"
namespace oneflow {
Maybe<void> SquareOp::InferLogicalTensorDesc(user_op::InferContext* ctx) {
  *ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);
  return Maybe<void>::Ok();
}
Maybe<void> SquareOp::InferDataType(user_op::InferContext* ctx) {
  *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
  return Maybe<void>::Ok();
}
Maybe<void> SquareGradOp::InferLogicalTensorDesc(user_op::InferContext* ctx) {
  CHECK_EQ_OR_RETURN(ctx->InputShape("x", 0), ctx->InputShape("dy", 0));
  *ctx->OutputShape("dx", 0) = ctx->InputShape("x", 0);
  return Maybe<void>::Ok();
}
Maybe<void> SquareGradOp::InferDataType(user_op::InferContext* ctx) {
  *ctx->OutputDType("dx", 0) = ctx->InputDType("x", 0);
  return Maybe<void>::Ok();
}
REGISTER_USER_OP_GRAD("square").SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
  const auto name = ctx->FwOp().op_name() + "_grad";
  ctx->DefineOp(name, [&ctx](user_op::BackwardOpBuilder& builder) {
    return builder.OpTypeName("square_grad")
        .InputBind("x", ctx->FwOp().input("x", 0))
        .InputBind("dy", ctx->FwOp().output_grad("y", 0))
        .Output("dx")
        .Build();
  });
  ctx->FwOp().InputGradBind(user_op::OpArg("x", 0),
                            [&ctx, name]() -> const std::string& { return ctx->GetOp(name).output("dx", 0); });
  return Maybe<void>::Ok();
});
}
"""
HEADER = "namespace oneflow { double Twice(double x); }\n"
UTILITY = '#include "oneflow/user/kernels/twice.h"\nnamespace oneflow { double Twice(double x) { return 2 * x; } }\n'
KERNELS = """
#include "oneflow/core/framework/framework.h"
#include "oneflow/user/kernels/twice.h"
namespace oneflow {
template<typename T>
class SquareKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    T* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) { y[i] = x->dptr<T>()[i] * x->dptr<T>()[i]; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
template<typename T>
class SquareGradKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const auto* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* dy = ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<T>();
    T* dx = ctx->Tensor4ArgNameAndIndex("dx", 0)->mut_dptr<T>();
    for (int64_t i = 0; i < x->shape().elem_cnt(); ++i) { dx[i] = Twice(x->dptr<T>()[i]) * dy[i]; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("square").SetCreateFn<SquareKernel<double>>().SetIsMatchedHob(
    user_op::HobDataType("x", 0) == DataType::kDouble);
REGISTER_USER_KERNEL("square_grad").SetCreateFn<SquareGradKernel<double>>().SetIsMatchedHob(
    user_op::HobDataType("x", 0) == DataType::kDouble);
}
"""
FILES = {
    "oneflow/core/framework/infer_util.h": "InputShape(",
    "oneflow/ir/include/OneFlow/OneFlowOps.td": DEFINITIONS,
    "oneflow/user/ops/square_op.cpp": OPS,
    "oneflow/user/kernels/square_kernel.cpp": KERNELS,
    "oneflow/user/kernels/twice.h": HEADER,
    "oneflow/user/kernels/twice.cpp": UTILITY,
}


def write_checkout(root: Path) -> Path:
    """Write the files below a folder, and return it."""
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
