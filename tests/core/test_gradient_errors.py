"""Gradients that do not fit their op, or the ops they name."""

import pytest
import torch

from oneop.errors import GradientError


@pytest.mark.parametrize(
    "how, text",
    [
        ("op", 'no op "t_scael" is registered, did you mean "t_scale"?'),
        ("input", 'backward op "t_scale" has no input "X", did you mean "x"?'),
        ("output", 'backward op "t_scale" has no output "dx"'),
        ("attr", 'backward op "t_scale" has no attribute "bye", did you mean "by"?'),
        ("type", 'backward op "t_scale", attribute "by": expected double, found string'),
        ("needed", 'backward op "t_needs" needs the attribute "by"'),
        ("blob", 'gives "nothing" to input "x" of op "t_scale", but nothing makes a blob of that name'),
        ("argument", 'op "t_wrong" has no input "z"; its inputs are: x'),
        ("check", 'told to fail (Check failed: how != "check" (check vs. check))'),
    ],
)
def test_wrong(ops, text_of, place, how, text):
    x = torch.ones(3, requires_grad=True)
    where = place('OP_GRAD("t_wrong")')
    for _ in range(2):
        with pytest.raises(GradientError) as raised:
            ops.t_wrong(x, how=how)
        lines = text_of(raised).split("\n")
        assert lines[0] == f'the gradient of op "t_wrong"{"" if how == "blob" else ":"} {text}'
        assert lines[-1] == f"  at {where}"
        assert len(lines) <= 4
    assert ops.t_wrong(x.detach(), how=how)[0].sum() == 3


def test_unbound(ops, text_of, place):
    with pytest.raises(GradientError) as raised:
        ops.t_wrong(torch.ones(3, requires_grad=True), how="unbound")
    where = place('OP_GRAD("t_wrong")')
    assert text_of(raised) == (
        'the gradient of op "t_wrong" gives none for input "x"\n'
        "  bind one with InputGradBind, or mark the input as not differentiable: "
        ".SetInputArgModifyFn, set_requires_grad(false)\n"
        f"  at {where}"
    )


def test_the_gradient_of_an_output_that_has_none(ops, text_of, place):
    with pytest.raises(GradientError) as raised:
        ops.t_wrong(torch.ones(3, requires_grad=True), how="undefined")
    where = place('OP_GRAD("t_wrong")')
    assert text_of(raised) == (
        'the gradient of op "t_wrong" reads the gradient of output "n", which has none: '
        "it is int64 or marked as not differentiable\n"
        "  test with HasGradTensor4OpOutput first\n"
        f"  at {where}"
    )


def test_an_error_in_a_backward_kernel_arrives(ops, inline):
    library = inline("""
        KERNEL(Fail, { CHECK(false) << "no way back"; })
        KERNEL(Copy, { for (int64_t i = 0; i < Count(ctx, "y"); ++i) { Out<T>(ctx, "y")[i] = In<T>(ctx, "x")[i]; } })
        REGISTER_USER_OP("i_fails_back").Input("x").Output("y").SetTensorDescInferFn(Same);
        REGISTER_USER_OP("i_fails_back_grad").Input("x").Output("y").SetTensorDescInferFn(Same);
        REGISTER_FOR("i_fails_back", Copy, float, "x")
        REGISTER_FOR("i_fails_back_grad", Fail, float, "x")
        REGISTER_USER_OP_GRAD("i_fails_back").SetBackwardOpConfGenFn([](BackwardOpConfContext* ctx) {
          ctx->DefineOp("g", [&](BackwardOpBuilder& builder) {
            builder.OpTypeName("i_fails_back_grad").InputBind("x", ctx->FwOp().output_grad("y", 0));
            return builder.Output("y").Build();
          });
          ctx->FwOp().InputGradBind(OpArg("x", 0), [&]() { return ctx->GetOp("g").output("y", 0); });
        });
    """)
    x = torch.ones(3, requires_grad=True)
    for _ in range(3):
        y = library.i_fails_back(x)
        with pytest.raises(RuntimeError, match=r'op "i_fails_back_grad", kernel at .*: no way back'):
            y.sum().backward()
