"""What `oneop.testing` refuses and reports of its own, each with its text."""

import pytest
import torch

import oneop
from oneop.errors import ArgumentError, OpCheckFailed
from oneop.testing.compare import Broken, assert_close


@pytest.fixture(scope="module")
def summed():
    """An op of many inputs."""
    inputs = ", ".join(f"Tensor x{i}" for i in range(8))
    op = oneop.define(f"t_refused_sum({inputs}) -> Tensor y", infer="elementwise")

    @op.register_kernel()
    def kernel(*values):
        return sum(values)

    return op


def test_hints_of_cases(summed):
    with pytest.raises(ArgumentError) as raised:
        oneop.testing.cases("t_refused_sum", shape=[(2,)])
    assert str(raised.value) == "cases: expected shapes, attrs or values, found shape"


@pytest.mark.parametrize("call", [[[(2, 3), (2, 3)]], [(2, "n")], [2, 3], [(-1,)], (2, 3), "ab"])
def test_shapes_of_another_form(summed, call):
    with pytest.raises(ArgumentError) as raised:
        oneop.testing.reference("t_refused_sum", shapes=[[(2, 3)], call])
    assert str(raised.value) == (
        f"shapes: expected one list for each call, with the shape of each tensor, found {call!r}\n"
        "  such as shapes=[[(2, 3), (3,)], [(1, 4), (4,)]]; the tensors of a list come one after the other"
    )


def test_a_gradient_that_is_declared_to_be_zero():
    """The op of the gradient has a derivative, and says that it has none."""
    op = oneop.define("t_refused_cube(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float64)(lambda x: x**3)
    back = oneop.define(
        "t_refused_cube_grad(Tensor x, Tensor dy) -> Tensor dx", infer="elementwise", differentiable=False
    )
    back.register_kernel("cpu", dtypes=torch.float64)(lambda x, dy: 3 * x**2 * dy)
    op.register_grad(lambda ctx, dy: back(ctx.x, dy))
    with pytest.raises(OpCheckFailed) as raised:
        oneop.testing.check(op, only="second gradient")
    assert (
        "is an op of the gradient declared without one (NoGrad, .no_grad(), differentiable=False)? That says that"
        "\n    its derivative is zero; leave it out, and double backward is refused, or give it a gradient"
    ) in str(raised.value)


def test_results_that_are_missing():
    with pytest.raises(Broken, match="compiled: 1 results on one side, 2 on the other"):
        assert_close([torch.ones(1)], [torch.ones(1)] * 2, "compiled", ["y"])


def test_too_many_ways_to_place(summed):
    with pytest.raises(ArgumentError) as raised:
        oneop.testing.check_sbp("t_refused_sum", [torch.ones(2, 2, 2, 2, 2)] * 8)
    text = str(raised.value)
    assert text.startswith('check_sbp: op "t_refused_sum" has ')
    assert text.endswith("too many to try\n  pass discover=False, or inputs of fewer axes")
