"""Functors as OneFlow's functional/impl writes them: bases, calls in place, on a device, with autograd off."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import OneopError

FOLDER = Path(__file__).parent / "impl"


@pytest.fixture(scope="module", autouse=True)
def library():
    full = oneop.define("im_full(*, int[] size) -> Tensor y", differentiable=False)
    full.register_infer(lambda size: oneop.TensorSpec(tuple(size), torch.float32))
    full.register_kernel("cpu")(lambda size: np.ones(size, np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a signature with a placement is left out
        return oneop.load("fn_impl", sorted(FOLDER.glob("*.cpp")), functional=[FOLDER / "api.yaml"])


def both_ways(function, *tensors):
    """Return results and gradients, eager and compiled, which must be the same."""
    outcomes = []
    torch.compiler.reset()
    for run in (function, torch.compile(function, backend="aot_eager", fullgraph=True)):
        leaves = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
        result = run(*leaves)
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        grads = torch.autograd.grad(result.sum(), wanted, allow_unused=True) if wanted else ()
        outcomes.append([result.detach(), *grads])
    torch.testing.assert_close(outcomes[0], outcomes[1])
    return outcomes[0]


def random(*size, grad=True, dtype=torch.float32):
    return torch.randn(*size, dtype=dtype).requires_grad_(grad)


@pytest.mark.parametrize("name", ["im_sine", "im_float_sine"])
def test_a_unary_functor(name):
    x = random(3, 4)
    y, dx = both_ways(lambda x: getattr(oneop._C, name)(x), x)
    torch.testing.assert_close([y, dx], [x.detach().sin(), x.detach().cos()])


def test_a_float_functor_takes_whole_numbers():
    x = torch.arange(5)
    y = oneop._C.im_float_sine(x)
    assert y.dtype == torch.float32
    torch.testing.assert_close(y, x.sin())
    with pytest.raises(OneopError, match=r"cannot hold the result, of type"):
        oneop._C.im_float_sine_(x)


@pytest.mark.parametrize("name", ["im_sine_", "im_float_sine_"])
def test_a_unary_functor_in_place(name):
    def run(x):
        y = x * 1
        returned = getattr(oneop._C, name)(y)
        return y + returned

    x = random(3, 4)
    y, dx = both_ways(run, x)
    torch.testing.assert_close([y, dx], [2 * x.detach().sin(), 2 * x.detach().cos()])
    plain = torch.randn(3)
    expected, version = plain.sin(), plain._version
    assert getattr(oneop._C, name)(plain) is plain
    torch.testing.assert_close(plain, expected)
    assert plain._version > version


def test_a_leaf_is_not_changed_in_place():
    x = random(3)
    with pytest.raises(OneopError, match=r"a leaf that requires a gradient cannot be changed in place"):
        oneop._C.im_sine_(x)
    with torch.no_grad():
        oneop._C.im_sine_(x)  # as torch allows


def test_a_binary_functor_promotes():
    x, y = random(4), random(4, dtype=torch.float64)
    z, dx, dy = both_ways(lambda x, y: oneop._C.im_mul(x, y), x, y)
    assert z.dtype == torch.float64
    torch.testing.assert_close([z, dx, dy], [(x * y).detach(), y.detach().float(), x.detach().double()])
    assert oneop._C.im_mul(torch.arange(3), torch.ones(3)).dtype == torch.float32
    assert oneop._C.im_float_mul(torch.arange(3), torch.arange(3)).tolist() == [0.0, 1.0, 4.0]


def test_the_functor_of_a_binary_gradient():
    x, y, dz = (torch.randn(3) for _ in range(3))
    torch.testing.assert_close(oneop._C.im_mul_grad(x, y.double(), dz), x * y.double() * dz)


def test_a_binary_functor_in_place():
    def run(x, y):
        z = x * 1
        oneop._C.im_mul_to(z, y, inplace=True)
        return z

    x, y = random(2, 3), random(2, 3)
    z, dx, dy = both_ways(run, x, y)
    torch.testing.assert_close([z, dx, dy], [(x * y).detach(), y.detach(), x.detach()])
    with pytest.raises(OneopError, match=r"cannot be repeated to the shape"):
        oneop._C.im_mul_to(torch.ones(2), torch.ones(2, 2), inplace=True)
    with pytest.raises(OneopError, match=r"cannot hold the result, of type"):
        oneop._C.im_mul_to(torch.arange(2), torch.ones(2), inplace=True)


def test_dispatch_in_place_with_attributes():
    def run(x):
        y = x * 1
        oneop._C.im_scale(y, 3.0, inplace=True)
        return y

    x = random(4)
    for function in (run, lambda x: oneop._C.im_scale(x, 3.0)):
        torch.testing.assert_close(both_ways(function, x), [3 * x.detach(), torch.full((4,), 3.0)])


def test_a_context_with_a_device():
    assert torch.equal(oneop._C.im_full([2, 3]), torch.ones(2, 3))
    assert oneop._C.im_full([2], device="cpu").device.type == "cpu"
    assert oneop._C.im_full([2], "cpu").tolist() == [1.0, 1.0]  # parsed in C++
    assert oneop._C.im_full([2], device="meta").device.type == "meta"
    with pytest.raises(OneopError, match=r'"cpu:x" is no device: expected cpu'):
        oneop._C.im_full([2], "cpu:x")
    compiled = torch.compile(lambda x: x + oneop._C.im_full([2], device="cpu"), backend="aot_eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]


def test_a_placement_is_refused():
    with pytest.raises(OneopError, match=r"an op is called for a placement"):
        oneop._C.im_full_placed([2])
    with pytest.raises(OneopError, match=r"every tensor is on one device here"):
        oneop._C.im_placement(torch.ones(1))


def test_requires_grad_is_set():
    y = oneop._C.im_full([2], requires_grad=True)
    assert y.requires_grad and y.is_leaf
    torch.compiler.reset()
    with pytest.raises(Exception, match=r"sets requires_grad of a tensor while it is traced"):
        torch.compile(lambda: oneop._C.im_full([2], requires_grad=True), backend="aot_eager", fullgraph=True)()


def test_autograd_is_off_for_a_scope():
    x, y = random(4), random(4)
    z, dx, dy = both_ways(lambda x, y: oneop._C.im_frozen_sum(x, y), x, y)
    assert dx is None or not dx.any()
    torch.testing.assert_close([z, dy], [(x.sin() + y.sin()).detach(), y.detach().cos()])
    with pytest.raises(OneopError, match=r"autograd is off when this fails"):
        oneop._C.im_fails_without_grad(x)
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not oneop._C.im_frozen_sum(x, y).requires_grad
        assert not torch.is_grad_enabled()
