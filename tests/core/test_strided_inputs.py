"""Kernels get contiguous inputs, whatever the strides of the caller's tensors: against torch's own copy."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.registry import isolated

DTYPES = (torch.uint8, torch.int16, torch.float16, torch.int32, torch.float32, torch.float64, torch.complex128)


@pytest.fixture(scope="module", autouse=True)
def ops():
    with isolated():
        op = oneop.define("strided_same(Tensor x) -> Tensor", infer="elementwise")
        op.register_kernel("cpu", dtypes=DTYPES)(lambda x: x.copy())
        op.register_grad(lambda ctx, dy: dy * 2)

        def add_one(x):
            x += 1

        oneop.define("strided_add_(Tensor(a!) x) -> ()").register_kernel("cpu", dtypes=DTYPES)(add_one)
        yield


@st.composite
def strided(draw):
    """A tensor of up to five dimensions that was permuted, sliced, expanded or flipped over; small and not so small."""
    shape = draw(st.lists(st.integers(1, 7), min_size=1, max_size=5))
    dtype = draw(st.sampled_from(DTYPES))
    x = torch.arange(torch.Size(shape).numel()).reshape(shape).to(dtype)
    x = x.permute(draw(st.permutations(range(len(shape)))))
    for dim in range(x.dim()):
        step = draw(st.integers(1, 3))
        x = x.narrow(dim, 0, draw(st.integers(1, x.shape[dim])))[(slice(None),) * dim + (slice(None, None, step),)]
    if draw(st.booleans()):
        x = x.expand(draw(st.integers(1, 3)), *x.shape)
    if dtype == torch.complex128 and draw(st.booleans()):
        x = x.conj()
    return x


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_the_values_are_those_of_the_tensor(data):
    x = data.draw(strided())
    for _ in range(2):  # the second is the repeated call
        y = oneop.ops.strided_same(x)
        assert y.is_contiguous() and torch.equal(y, x.resolve_conj())


@pytest.mark.parametrize("view", [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[1:, 1:], lambda x: x.t()[::2]])
@pytest.mark.parametrize("size", [3, 8, 200])
def test_a_changed_input_is_written_back(view, size):
    x = torch.zeros(size, size)
    expected = torch.zeros(size, size)
    for _ in range(2):
        oneop.ops.strided_add_(view(x))
        view(expected).add_(1)
    assert torch.equal(x, expected)


def test_alternating_shapes_and_gradients():
    """Each call is one that was made before, and never the last one."""
    inputs = [torch.arange(n * 1.0, requires_grad=bool(grad)) for n in (1, 3, 8, 100) for grad in (0, 1)]
    inputs += [torch.rand(4, 4).t(), torch.rand(4, 4, dtype=torch.float64).t().requires_grad_()]
    for _ in range(4):
        for x in inputs:
            y = oneop.ops.strided_same(x)
            assert torch.equal(y, x) and y.requires_grad == x.requires_grad
            if x.requires_grad:
                (grad,) = torch.autograd.grad(y.sum(), x)
                assert torch.equal(grad, torch.full_like(x, 2))
