"""Functors of elements: against torch, for every dtype, shape and way to call them."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop.testing import check_sbp

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 1e-2}


def swish(x, beta):
    return x * torch.sigmoid(beta * x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (3, 0, 2), (513,), (40, 1000)])
def test_every_dtype_and_shape(ops, dtype, shape):
    x = torch.randn(shape, dtype=torch.float64).to(dtype)
    y = ops.oph_swish(x, beta=1.5)
    assert y.dtype == dtype and y.shape == x.shape
    torch.testing.assert_close(y.double(), swish(x.double(), 1.5), rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_bit_pattern_of_16_bits(ops, dtype):
    if dtype.itemsize != 2:
        x = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan, 1e-45, 3e38], dtype=dtype)
    else:
        x = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(dtype)
    y = ops.oph_swish(x)
    wide = x.to(torch.promote_types(dtype, torch.float32))
    expected = (wide / (1 + torch.exp(-wide))).to(dtype)
    finite = expected.isfinite() & (expected.abs() > torch.finfo(dtype).tiny * 8)
    torch.testing.assert_close(y[finite], expected[finite], rtol=TOLERANCE[dtype], atol=0)
    assert torch.equal(y.isnan(), expected.isnan())


def test_strided_inputs(ops):
    x = torch.randn(6, 8, dtype=torch.float64)
    for view in (x.t(), x[::2, 1::3], x[:, 3], x.expand(2, 6, 8), x.flip(0)):
        torch.testing.assert_close(ops.oph_swish(view), swish(view, 1.0))


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("dtype", FLOATS)
def test_threads_change_nothing(ops, dtype):
    x = torch.randn(100_003, dtype=torch.float64).to(dtype)
    together = ops.oph_swish(x)
    torch.set_num_threads(1)
    assert torch.equal(together, ops.oph_swish(x))


def test_inputs_of_several_dtypes(ops):
    condition, a, b = torch.randn(50) > 0, torch.randn(50), torch.randn(50)
    assert torch.equal(ops.oph_choose(condition, a, b), torch.where(condition, a, b))
    with pytest.raises(oneop.errors.KernelNotFoundError, match='no kernel for op "oph_choose"'):
        ops.oph_choose(condition, a, b.double())


def test_several_outputs_of_several_dtypes(ops):
    x = torch.randn(50)
    fraction, exponent = ops.oph_frexp(x)
    expected = torch.frexp(x)
    assert torch.equal(fraction, expected.mantissa) and torch.equal(exponent, expected.exponent)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_an_input_is_changed_in_place(ops, dtype):
    x, y = (torch.randint(-9, 9, (600,)).to(dtype) for _ in range(2))
    expected = x + 2 * y
    ops.oph_add_(x, y, alpha=2.0)
    assert torch.equal(x, expected)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64])
def test_whole_numbers(ops, dtype):
    x = torch.arange(0, 100).to(dtype)
    assert torch.equal(ops.oph_half_plus(x), x // 2 + 1)


def test_shapes_must_agree(ops):
    with pytest.raises(oneop.OneopError, match="expected inputs of one shape, found") as caught:
        ops.oph_swish_grad(torch.zeros(3), torch.zeros(2, 3), beta=1.0)
    assert "torch.broadcast_tensors(x, dy)" in str(caught.value)


def test_gradients(ops):
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: ops.oph_swish(x, beta=0.7), (x,))
    gate = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    y = ops.oph_gated(x, gate)
    dx, dgate = torch.autograd.grad(y.sum(), (x, gate), allow_unused=True)
    assert torch.equal(dx, (gate > 0).double()) and dgate is None


def test_compiled_and_batched(ops):
    x = torch.randn(4, 5)
    compiled = torch.compile(lambda x: ops.oph_swish(x, beta=2.0) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(x), swish(x, 2.0) + 1)
    torch.testing.assert_close(torch.vmap(ops.oph_swish)(x), swish(x, 1.0))


def test_in_a_job(ops):
    import numpy as np

    import oneop.typing as tp

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((5,), dtype=oneop.float32)) -> tp.Numpy:
        return ops.oph_swish(x, beta=3.0)

    x = np.linspace(-2, 2, 5, dtype=np.float32)
    np.testing.assert_allclose(job(x), swish(torch.from_numpy(x), 3.0).numpy(), rtol=1e-6)


def test_split_over_devices(ops):
    report = check_sbp(ops.oph_swish, [torch.randn(4, 6, dtype=torch.float64)], discover=False, beta=1.0)
    assert not report.wrong and report.proved


#: Families of checks without the compilers of torch.
QUICK = ["memory", "inference", "kernels", "gradient", "special values"]


@pytest.mark.parametrize("families", [QUICK, pytest.param(None, marks=pytest.mark.slow)], ids=["quick", "all"])
def test_check_finds_nothing(ops, families):
    assert oneop.testing.check("oph_swish", only=families, examples=6).ok


BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "max": torch.maximum,
    "min": torch.minimum,
    "select": lambda a, b: torch.where(a > b, a, 2 * b),
}
UNARY = [torch.tanh, torch.sin, torch.erf, torch.abs, torch.neg]


@settings(max_examples=40, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.one_of(st.sampled_from(sorted(BINARY)), st.integers(0, len(UNARY) - 1)),
            st.integers(0, 9),
            st.integers(0, 9),
        ),
        min_size=1,
        max_size=8,
    ),
    size=st.integers(0, 70),
    seed=st.integers(0, 2**16),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_random_programs(ops, steps, size, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    ours = [torch.randn(size, generator=generator, dtype=dtype) for _ in range(2)]
    theirs = list(ours)
    for kind, i, k in steps:
        i, k = i % len(ours), k % len(ours)
        if isinstance(kind, str):
            ours.append(ops.oph_binary(ours[i], ours[k], kind=kind))
            theirs.append(BINARY[kind](theirs[i], theirs[k]))
        else:
            ours.append(ops.oph_unary(ours[i], kind=kind))
            theirs.append(UNARY[kind](theirs[i]))
    # Errors of a few units in the last place may be multiplied by the steps after them.
    tolerance = 64 * torch.finfo(dtype).eps
    for mine, other in zip(ours, theirs, strict=True):
        scale = float(other.abs().max()) if size else 0.0
        torch.testing.assert_close(mine, other, rtol=tolerance, atol=tolerance * max(scale, 1.0))
