"""Which kernel runs, how it is made, and what is said when none can run or one fails."""

import pytest
import torch

import oneop
from oneop.errors import (
    AmbiguousKernelError,
    CheckError,
    KernelNotFoundError,
    OpNotImplementedError,
    OpRuntimeError,
    OpTypeError,
)

X = torch.ones(2, 3)


def test_priority_and_predicate(ops):
    for _ in range(2):
        assert ops.t_choice(X) == 1
        assert ops.t_choice(X, mode="quick") == 2


def test_a_tie(ops, text_of, place):
    with pytest.raises(AmbiguousKernelError) as raised:
        ops.t_choice(X, mode="tie")
    kernels = [place('USER_KERNEL("t_choice")', i) for i in (0, 2)]
    assert text_of(raised) == (
        '2 kernels of op "t_choice" match with the same priority\n'
        "  x: float32[2, 3] -> y: float32[]\n"
        f"    cpu         float32  {kernels[0]}  priority 0\n"
        f"    any device  float32  {kernels[1]}  priority 0\n"
        "  give one of them .SetPriority(n) or narrow its predicate"
    )


def test_none(ops, text_of, place):
    with pytest.raises(KernelNotFoundError) as raised:
        ops.t_choice(X.double())
    at = [place('USER_KERNEL("t_choice")', i) for i in range(4)]
    dtype = '"x" is float64, the kernel is for float32'
    assert text_of(raised) == (
        'no kernel for op "t_choice" on cpu, dtype float64\n'
        "  x: float64[2, 3] -> y: float64[]\n"
        "  registered kernels:\n"
        f"    cpu         float32    {at[0]}  {dtype}\n"
        f"    cpu         float32    {at[1]}  {dtype}\n"
        f"    any device  float32    {at[2]}  {dtype}\n"
        f"    cuda        any dtype  {at[3]}  the call is on cpu, the kernel is for cuda\n"
        '  add one: REGISTER_USER_KERNEL("t_choice"), in oneop/op.h OP(...).kernel, or convert the inputs'
    )


def test_a_condition_that_does_not_hold(ops, inline, text_of):
    inline("""
        REGISTER_NO_GRAD_USER_OP("i_mode").Input("x").Output("y")
            .Attr<std::string>("mode", "a").SetTensorDescInferFn(Same);
        KERNEL(Nothing, (void)ctx)
        REGISTER_USER_KERNEL("i_mode").SetCreateFn<Nothing<float>>().SetIsMatchedHob(
            ON_CPU && user_op::HobAttr<std::string>("mode") == "b");
        REGISTER_USER_KERNEL("i_mode").SetCreateFn<Nothing<float>>().SetIsMatchedPred(
            [](const user_op::KernelRegContext&) { return false; });
    """)
    with pytest.raises(KernelNotFoundError) as raised:
        oneop.ops.i_mode(X)
    lines = text_of(raised).split("\n")
    assert lines[3].endswith('  does not hold: attr("mode") == b') or lines[3].endswith(
        '  does not hold: attr("mode") == "b"'
    )
    assert lines[4].endswith("  does not hold: predicate")


def test_no_kernel_at_all(ops, text_of):
    with pytest.raises(KernelNotFoundError) as raised:
        ops.t_no_kernel(X)
    assert text_of(raised) == (
        'no kernel for op "t_no_kernel" on cpu, dtype float32\n  x: float32[2, 3] -> y: float32[2, 3]\n'
        "  no kernel is registered at all\n"
        '  add one: REGISTER_USER_KERNEL("t_no_kernel"), in oneop/op.h OP(...).kernel, or convert the inputs'
    )


def test_no_inference(ops, text_of, defined):
    with pytest.raises(OpNotImplementedError) as raised:
        ops.t_no_inference(X)
    assert text_of(raised) == (
        'op "t_no_inference" has no shape inference: add .SetTensorDescInferFn(fn)\n'
        f"  defined at {defined('t_no_inference')}"
    )


def test_state_is_kept_for_each_set_of_attributes(ops):
    first = [ops.t_counting(X)[0].item() for _ in range(3)]
    assert first == [first[0], first[0] + 1, first[0] + 2]
    other = ops.t_counting(torch.ones(7))  # another shape: the same state, another cache
    assert other.tolist() == [first[-1] + 1, 7]
    start = ops.t_counting(X, which=5)[0].item()
    assert ops.t_counting(X)[0].item() == first[-1] + 2
    assert ops.t_counting(X, which=5)[0].item() == start + 1


@pytest.mark.parametrize(
    "where, error, text, line",
    [
        ("infer", CheckError, 'op "t_failing": told to fail (Check failed: {infer})', '"where"), "infer"'),
        (
            "create",
            CheckError,
            'op "t_failing", kernel at {kernel}: told to fail (Check failed: {create})',
            '(where, "create")',
        ),
        (
            "check",
            CheckError,
            'op "t_failing", kernel at {kernel}: told to fail (Check failed: {check})',
            '(where, "check")',
        ),
        ("exception", OpRuntimeError, 'op "t_failing", kernel at {kernel}: at(7)', None),
        ("number", OpRuntimeError, 'op "t_failing", kernel at {kernel}: an exception of an unknown type', None),
        (
            "type",
            OpTypeError,
            'op "t_failing", kernel at {kernel}: tensor "y" of op "t_failing" holds kFloat, '
            "the kernel asks for mut_dptr<double>",
            None,
        ),
        ("tmp", CheckError, 'op "t_failing", kernel at {kernel}: asks for a buffer of -1 bytes', None),
    ],
)
def test_failures_arrive_as_exceptions(ops, text_of, place, where, error, text, line):
    conditions = {
        "infer": 'ctx->Attr<std::string>("where") != "infer" (infer vs. infer)',
        "create": 'where != "create" (create vs. create)',
        "check": 'where != "check" (check vs. check)',
    }
    want = text.format(kernel=place('USER_KERNEL("t_failing")'), **conditions)
    for _ in range(3):
        with pytest.raises(error) as raised:
            ops.t_failing(X, where=where)
        got = text_of(raised)
        assert got.split("\n")[0] == want
        assert line is None or got.endswith(f"\n  at {place(line)}")
    assert ops.t_failing(X).sum() == 6  # and the op still works


def test_impossible_shapes(ops, text_of, defined):
    with pytest.raises(CheckError) as raised:
        ops.t_failing(X, where="shape")
    assert text_of(raised) == (
        'op "t_failing": inference gave output "y" the impossible shape float32[-1]\n'
        "  x: float32[2, 3] -> y: float32[-1]\n"
        f"  defined at {defined('t_failing')}"
    )


def test_too_many_dimensions_from_inference(ops):
    with pytest.raises(oneop.OneopError, match="t_failing"):
        ops.t_failing(X, where="dims")


def test_check_attr_fn(ops, text_of, place):
    with pytest.raises(CheckError) as raised:
        ops.t_watched(X, which=-1)
    first, found, where = text_of(raised).split("\n")
    assert found.startswith("  ") and "float32[" in found
    assert (
        first
        == 'op "t_watched": which must not be negative (Check failed: conf.attr<int64_t>("which") >= 0 (-1 vs. 0))'
    )
    assert where == f"  at {place('CHECK_GE_OR_RETURN(conf')}"


def test_inference_error_names_the_op(ops, text_of, place):
    check = 'ctx->InputShape("in", 0), ctx->InputShape("by", 0)'
    with pytest.raises(CheckError) as raised:
        ops.t_multiply(torch.ones(2), torch.ones(3))
    assert text_of(raised) == (
        'op "t_multiply": shapes must be equal '
        '(Check failed: ctx->InputShape("in", 0) == ctx->InputShape("by", 0) ((2) vs. (3)))\n'
        "  in: float32[2], by: float32[3]\n"
        f"  at {place(check)}"
    )


def test_cpu_only(ops, text_of, defined):
    assert oneop.get_op("t_cpu_only").cpu_only
