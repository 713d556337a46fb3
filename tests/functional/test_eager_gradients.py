"""`OpExprGradFunction`: one registration serves every mode."""

import pytest
import torch

import oneop

pytestmark = pytest.mark.usefixtures("library")


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def test_it_differentiates():
    for _ in range(3):
        x = leaf(-1.0, 2.0)
        oneop._C.fn_leaky(x, 0.5).sum().backward()
        assert torch.equal(x.grad, torch.tensor([0.5, 1.0]))


def test_attributes_and_shapes_are_those_of_the_call():
    for alpha, shape in [(0.5, (2,)), (0.25, (2,)), (0.5, (3, 2)), (0.25, (1,))]:
        x = -torch.ones(shape, requires_grad=True)
        x.retain_grad()
        oneop.ops.fn_leaky(x, alpha=alpha).sum().backward()
        assert torch.allclose(x.grad, torch.full(shape, alpha))


def test_the_graph_gradient_wins_where_there_are_both():
    x = leaf(1.0)
    oneop._C.fn_both(x).sum().backward()
    assert torch.equal(x.grad, torch.tensor([1.0]))


def test_a_null_gradient_is_an_error():
    x, dy = leaf(1.0), leaf(1.0)
    with pytest.raises(oneop.errors.GradientError, match=r'leaves the gradient of input 0 \("x"\) null'):
        oneop.ops.fn_leaky_grad(x, dy)


def test_compiled():
    def f(x):
        return oneop.ops.fn_leaky(x, alpha=0.5).sum()

    x = leaf(-1.0, 2.0)
    torch.compile(f, backend="aot_eager", fullgraph=True)(x).backward()
    assert torch.equal(x.grad, torch.tensor([0.5, 1.0]))
