"""Counts of operations that libraries in OneFlow's spelling give: asked by name, and by torch's own counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import oneop
from oneop.errors import CheckError, OpNotImplementedError

OP = """
REGISTER_USER_OP("{name}").Input("x").Output("y").Attr<int32_t>("k", 3)
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetDataTypeInferFn(user_op::TensorDescInferFnUtil::UnchangedDataType){count};
class {name}_kernel final : public user_op::OpKernel {{
  void Compute(user_op::KernelComputeContext*) const override {{}}
  bool AlwaysComputeWhenAllOutputsEmpty() const override {{ return false; }}
}};
REGISTER_USER_KERNEL("{name}").SetCreateFn<{name}_kernel>();
"""


def op(name, statements):
    body = f"[](user_op::ComputeComplexityFnContext* ctx) -> Maybe<double> {{ (void)ctx; {statements} }}"
    return OP.format(name=name, count=f".SetComputeComplexityFn({body})" if statements else "")


SOURCE = "\n".join(
    [
        op("co_right", 'return 1.0 * ctx->Attr<int32_t>("k") * ctx->Shape4ArgNameAndIndex("y", 0).elem_cnt();'),
        op("co_fails", 'CHECK_OR_RETURN(false) << "cannot count"; return 0;'),
        op("co_below", "return -2.5;"),
        op("co_nan", 'return __builtin_nan("");'),
        op("co_silent", ""),
    ]
)


@pytest.fixture(scope="module")
def library():
    head = '#include "oneflow/core/framework/framework.h"\nnamespace oneflow {\nnamespace {\n'
    with oneop.registry.isolated():
        yield oneop.load_inline("costs_tests", f"{head}{SOURCE}\n}}  // namespace\n}}  // namespace oneflow\n")


def test_counts(library):
    assert library.co_right.flops((2, 3)) == 18 and library.co_right.flops((2, 3), k=2) == 12
    with FlopCounterMode(display=False) as counter:
        library.co_right(torch.rand(2, 3), k=2)
        torch.ops.oneop.co_right(torch.rand(4))
        library.co_silent(torch.rand(4))
    assert counter.get_flop_counts()["Global"] == {torch.ops.oneop.co_right: 24}


def test_what_is_told(library):
    assert "  flops    declared" in str(oneop.get_op("co_right")).splitlines()
    assert "flops" not in str(oneop.get_op("co_silent"))


def test_failures(library):
    with pytest.raises(CheckError, match=r"op \"co_fails\", count of operations: cannot count \(Check failed: false\)"):
        library.co_fails.flops((2,))
    for name, shown in [("co_below", "-2.5"), ("co_nan", "nan")]:
        said = rf"expected a finite number that is not negative, found {shown}\n  defined at .*\.cpp:\d+"
        with pytest.raises(CheckError, match=said):
            getattr(library, name).flops((2,))
    with pytest.raises(OpNotImplementedError, match=r"add \.flops\(fn\) or \.SetComputeComplexityFn\(fn\)\n  defined"):
        library.co_silent.flops((2,))
