"""Thirty ops from one .td and one yaml file: every input kind, attribute type, trait and flag, built in one call."""

import pytest
import torch

import oneop
from oneop.ods.flags import FLAGS

ATTRS = {
    "BoolAttr": True,
    "SI32Attr": 3,
    "SI64Attr": 4,
    "I32Attr": 5,
    "I64Attr": 6,
    "F32Attr": 0.5,
    "F64Attr": 0.25,
    "StrAttr": "text",
    "ShapeAttr": (2, 3),
    "OneFlow_DataType": torch.float64,
    "SI32ArrayAttr": [1, 2],
    "SI64ArrayAttr": [3, 4],
    "F32ArrayAttr": [0.5],
    "StrArrayAttr": ["a", "b"],
    "ShapeArrayAttr": [(1,), (2, 3)],
    "DTArrayAttr": [torch.int32],
    "ComplexDoubleAttr": 1 + 2j,
    "BytesAttr": b"bytes",
}
TRAITS = ["NoSideEffect", "NoMemoryEffect", "NoGrad", "CpuOnly", "SupportNonContiguous", "SameOperandsAndResultType"]
TENSOR_IN, TENSOR_OUT = "(ins OneFlow_Tensor:$x)", "(outs OneFlow_Tensor:$y)"


def td(name, inputs=TENSOR_IN, outputs=TENSOR_OUT, attrs="(ins)", traits="", more=""):
    cls = "".join(part.title() for part in name.split("_"))
    return (
        f'def OneFlow_{cls}Op : OneFlow_BaseOp<"{name}", [{traits}]> {{\n  let input = {inputs};\n'
        f"  let output = {outputs};\n  let attrs = {attrs};\n{more}}}\n"
    )


KINDS = {
    "thirty_variadic": td("thirty_variadic", "(ins Variadic<OneFlow_Tensor>:$x)"),
    "thirty_optional": td("thirty_optional", "(ins OneFlow_Tensor:$x, Optional<OneFlow_Tensor>:$b)"),
    "thirty_two": td("thirty_two", "(ins OneFlow_Tensor:$x, OneFlow_Tensor:$b)"),
    "thirty_grad": td("thirty_grad", traits="SameOperandsAndResultType"),
}
ATTR_OPS = {
    f"thirty_attr_{i}": td(f"thirty_attr_{i}", attrs=f"(ins {kind}:$a)", traits="NoGrad")
    for i, kind in enumerate(ATTRS)
}
TRAIT_OPS = {f"thirty_trait_{i}": td(f"thirty_trait_{i}", traits=trait) for i, trait in enumerate(TRAITS)}
FLAG_OPS = {
    "thirty_flags": td("thirty_flags", more="".join(f"  let {flag} = 1;\n" for flag in FLAGS)),
    "thirty_plain": td("thirty_plain", traits="NoSideEffect"),
}
OPS = KINDS | ATTR_OPS | TRAIT_OPS | FLAG_OPS

KERNELS = """
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/framework/op_generated.h"
#include "oneflow/core/functional/functional.h"
namespace oneflow {
class Copy final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    for (int64_t i = 0; i != y->shape_view().elem_cnt(); ++i) { y->mut_dptr<float>()[i] = x->dptr<float>()[i]; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
#define OK { return Maybe<void>::Ok(); }
using Op = ThirtyFlagsOp;
Maybe<void> Op::CheckAttr(const user_op::UserOpDefWrapper&, const user_op::UserOpConfWrapper&) OK
Maybe<void> Op::InferLogicalTensorDesc(user_op::InferContext* ctx) {
  ctx->SetOutputShape("y", 0, ctx->InputShape("x", 0));
  return Maybe<void>::Ok();
}
Maybe<void> Op::InferPhysicalTensorDesc(user_op::InferContext* ctx) { return InferLogicalTensorDesc(ctx); }
Maybe<void> Op::InferDataType(user_op::InferContext*) OK
Maybe<void> Op::GetSbp(user_op::SbpContext* ctx) { return user_op::GetSbpFnUtil::SplitForEachAxis(ctx); }
Maybe<void> Op::InferSbpSignature(user_op::InferSbpSignatureFnContext*) OK
Maybe<void> Op::InferNdSbp(user_op::InferNdSbpFnContext*) OK
Maybe<Symbol<Stream>> Op::InferDeviceAndStream(user_op::DeviceAndStreamInferContext* ctx) {
  return Stream::New(ctx->InputTensorDevice4ArgNameAndIndex("x", 0), StreamType::kCompute);
}
Maybe<void> Op::ModifyInputArg(const user_op::GetInputArgModifier&, const user_op::UserOpConfWrapper&) OK
Maybe<void> Op::ModifyOutputArg(const user_op::GetOutputArgModifier&, const user_op::UserOpConfWrapper&) OK
Maybe<void> Op::InferOutputBlobTimeShape(user_op::InferOutputBlobTimeShapeFnContext*) OK
Maybe<double> Op::GetComputeComplexity(user_op::ComputeComplexityFnContext*) { return 1.0; }
Maybe<void> Op::GetNdSbpSignatureList(user_op::GetNdSbpSignatureListContext*) OK
Maybe<void> Op::EnumerateNdSbpSignatures(user_op::GetNdSbpSignatureListContext*) OK
Maybe<void> Op::DumpNdSbpSignatureForOpConfFn(const NdSbpSignature&, OperatorConf*) OK

namespace one {
class CopyGrad : public OpExprGradFunction<AutoGradCaptureState> {
 public:
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(AutoGradCaptureState*, const TensorTuple&, const TensorTuple&, const AttrMap&) const override {
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const AutoGradCaptureState*, const TensorTuple& out_grads, TensorTuple* in_grads) const override {
    in_grads->push_back(JUST(functional::ThirtyPlain(out_grads.at(0))));
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("thirty_grad", CopyGrad);
}  // namespace one
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("thirty")
    (folder / "ops.td").write_text("".join(OPS.values()))
    registrations = "".join(f'REGISTER_USER_KERNEL("{name}").SetCreateFn<Copy>();\n' for name in OPS)
    (folder / "ops.cpp").write_text(KERNELS + registrations + "}  // namespace oneflow\n")
    (folder / "api.yaml").write_text(
        "- {name: thirty_grad, signature: 'Tensor (Tensor x) => ThirtyGrad', bind_python: True}\n"
        "- {name: thirty_plain, signature: 'Tensor (Tensor x) => ThirtyPlain'}\n"
        "- {name: thirty_optional, signature: 'Tensor (Tensor x, Tensor b=None) => ThirtyOptional', "
        "bind_python: True}\n"
    )
    library = oneop.build("thirty", folder / "ops.cpp", ods=folder / "ops.td", functional=folder / "api.yaml")
    return oneop.load(library)


def test_the_complexity_function_counts(library):
    assert oneop.ops.thirty_flags.flops((2, 3)) == 1


def test_all_are_there(library):
    assert len(OPS) == 30 and set(library.ops) == set(OPS)
    assert set(OPS) <= set(oneop.list_ops())


@pytest.mark.parametrize("name, value", list(zip(ATTR_OPS, ATTRS.values(), strict=True)))
def test_attributes(name, value, library):
    x = torch.arange(3.0)
    assert torch.equal(getattr(oneop.ops, name)(x), x)
    assert torch.equal(getattr(oneop.ops, name)(x, a=value), x)


@pytest.mark.parametrize("name", [*TRAIT_OPS, "thirty_flags", "thirty_plain"])
def test_traits_and_flags(name, library):
    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(getattr(oneop.ops, name)(x), x)


def test_input_kinds(library):
    x = torch.arange(3.0)
    assert torch.equal(oneop.ops.thirty_variadic([x, x, x]), x)
    assert torch.equal(oneop._C.thirty_optional(x), x) and torch.equal(oneop._C.thirty_optional(x, x), x)
    assert torch.equal(oneop.ops.thirty_two(x, x), x)


def test_differentiating_and_sharding(library):
    x = torch.ones(3, requires_grad=True)
    oneop._C.thirty_grad(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(3))
    assert len(oneop.sbp_signatures("thirty_grad", [(4, 4)])) == 3
    assert len(oneop.sbp_signatures("thirty_flags", [(4, 4)])) == 3
    assert len(oneop.sbp_signatures("thirty_plain", [(4, 4)])) == 1
