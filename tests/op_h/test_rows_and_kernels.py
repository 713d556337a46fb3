"""Functors of rows, and kernels of typed views."""

import pytest
import torch

import oneop
from oneop.testing import check_sbp

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-13, torch.float16: 4e-3, torch.bfloat16: 2e-2}


def rms_norm(x, w, eps=1e-6):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(5,), (3, 1), (4, 100), (2, 3, 33), (0, 4), (70, 511)])
def test_rows_with_a_shared_input(ops, dtype, shape):
    x, w = torch.randn(shape).to(dtype), torch.randn(shape[-1:]).to(dtype)
    y = ops.oph_rms_norm(x, w)
    expected = rms_norm(x.double(), w.double())
    torch.testing.assert_close(y.double(), expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.usefixtures("many_threads")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_threads_take_rows(ops, dtype):
    x, w = torch.randn(300, 257).to(dtype), torch.randn(257).to(dtype)
    together = ops.oph_rms_norm(x, w)
    torch.set_num_threads(1)
    assert torch.equal(together, ops.oph_rms_norm(x, w))


@pytest.mark.parametrize("shape", [(7,), (6, 6), (2, 3, 40)])
def test_an_element_for_each_row(ops, shape):
    x = torch.randn(shape, dtype=torch.float64)
    y, top = ops.oph_softmax(x)
    torch.testing.assert_close(y, torch.softmax(x, -1))
    assert torch.equal(top, x.amax(-1))
    assert torch.isnan(ops.oph_softmax(torch.full(shape, torch.nan))[1]).all()


def test_row_shapes_are_checked(ops):
    with pytest.raises(oneop.OneopError, match="has no rows beside the first input's"):
        ops.oph_rms_norm(torch.zeros(2, 3, 4), torch.zeros(5, 4))
    with pytest.raises(oneop.OneopError, match=r'its axes are "m k, k n -> m n": axis k is 3 and, in input 1, 4'):
        ops.oph_matmul(torch.zeros(2, 3), torch.zeros(4, 5))
    with pytest.raises(oneop.OneopError, match=r'its axes are "m k, k n -> m n", input 0 has shape \(2,\)'):
        ops.oph_matmul(torch.zeros(2), torch.zeros(4, 5))


def test_there_is_no_kernel_of_rows_on_other_devices(ops):
    x = torch.zeros(2, 3, device="meta")
    assert ops.oph_rms_norm(x, torch.zeros(3, device="meta")).shape == (2, 3)
    assert {kernel.device for kernel in oneop.show("oph_rms_norm").kernels} == {"cpu"}


def test_gradients_of_rows_and_kernels(ops):
    x, b = torch.randn(3, 4, dtype=torch.float64), torch.randn(4, 2, dtype=torch.float64)
    x.requires_grad_()
    b.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ops.oph_softmax(x)[0], (x,))
    assert torch.autograd.gradcheck(lambda x, b: ops.oph_matmul(x, b, scale=0.5), (x, b))
    assert torch.autograd.gradgradcheck(lambda x, b: ops.oph_matmul(x, b, scale=0.5), (x, b))


def test_lists_optional_inputs_and_scratch(ops):
    xs = [torch.randn(5, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    bias = torch.randn(5, dtype=torch.float64, requires_grad=True)
    y = ops.oph_total(xs, weights=[1, 2, 3])
    torch.testing.assert_close(y, xs[0] + 2 * xs[1] + 3 * xs[2])
    torch.testing.assert_close(ops.oph_total(xs, bias, weights=[1, 2, 3]), y + bias)
    assert torch.autograd.gradcheck(lambda *a: ops.oph_total(list(a[:3]), a[3], weights=[1, 2, 3]), (*xs, bias))
    assert torch.autograd.gradcheck(lambda *a: ops.oph_total(list(a), weights=[1, 2, 3]), tuple(xs))
    with pytest.raises(oneop.OneopError, match="expected a weight for each of xs"):
        ops.oph_total(xs)


def test_typed_access_by_name(ops):
    index = torch.tensor([[2, 0], [1, 1]])
    x = torch.randn(3)
    assert torch.equal(ops.oph_gather(x, index), x[index])
    with pytest.raises(oneop.OneopError, match=r'tensor "x": the kernel takes a View with 1 axis, found 2'):
        ops.oph_gather(torch.zeros(3, 1), index)


def test_strided_views(ops):
    x = torch.randn(4, 6)
    assert torch.equal(ops.oph_transpose(x[::2, ::3]), x[::2, ::3].t())


def test_signatures_over_devices(ops):
    x, b = torch.randn(4, 6, dtype=torch.float64), torch.randn(6, 2, dtype=torch.float64)
    for op, inputs in [(ops.oph_matmul, [x, b]), (ops.oph_softmax, [x]), (ops.oph_rms_norm, [x, x[0].clone()])]:
        report = check_sbp(op, inputs, discover=False)
        assert report.proved and not report.wrong


def test_flags_and_defaults(ops):
    defaults = {attr.name: attr.default for attr in oneop.show("oph_defaults").attrs}
    assert (defaults["a"], defaults["b"], defaults["c"], defaults["d"]) == ("-3", "True", "0.5", "-inf")
    assert "it's" in defaults["e"] and "2, 3" in defaults["f"] and "0.5, 1" in defaults["h"]
    assert "sigmoid(beta * x)" in oneop.ops.oph_swish.__doc__
    with pytest.raises(oneop.OneopError, match=r"requires grad|no gradient"):
        ops.oph_swish_grad(torch.zeros(2, requires_grad=True), torch.zeros(2), beta=1.0).sum().backward()
