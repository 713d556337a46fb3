"""Functors of oneop/op.h as CUDA kernels: one functor, equal to torch on both devices."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import oneop
from oneop.errors import KernelNotFoundError
from oneop.testing.checker import ON_CUDA, run_check
from oneop.testing.subject import Hints

pytestmark = pytest.mark.gpu

SIZES = [0, 1, 7, 256, 1001, 65537, 1 << 20]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


@pytest.fixture(scope="module")
def ops():
    return oneop.load("gpu_op_h", [Path(__file__).parent / "sources/op_h.cu"])


def swish(x, beta):
    return (x.double() * torch.sigmoid(beta * x.double())).to(x.dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_elementwise(ops, n, dtype):
    x = torch.randn(n, device="cuda", dtype=dtype)
    torch.testing.assert_close(ops.gpu_oph_swish(x, beta=1.5), swish(x, 1.5))
    torch.testing.assert_close(ops.gpu_oph_swish(x.cpu(), beta=1.5), swish(x, 1.5).cpu())


def test_layouts(ops):
    wide = torch.randn(64, 129, device="cuda")
    for x in (wide.t(), wide[:, 1:], wide[::2, ::3], wide[0, 1:], wide[:1].expand(5, 129), wide[0, 0]):
        torch.testing.assert_close(ops.gpu_oph_swish(x), swish(x, 1.0))
        assert ops.gpu_oph_swish(x).shape == x.shape


def test_bytes_of_bools(ops):
    byte = torch.tensor([0, 1, 2, 255] * 101, dtype=torch.uint8)
    a = torch.arange(404.0) + 1
    for device in ("cpu", "cuda"):
        c = byte.to(device).view(torch.bool)
        y, same = ops.gpu_oph_choose(c, a.to(device))
        assert torch.equal(y.cpu(), torch.where(byte != 0, a, -a))
        assert torch.equal(same.cpu().view(torch.uint8), (byte != 0).to(torch.uint8))
        assert torch.equal(ops.gpu_oph_same(c).cpu(), (byte != 0).int())
        half = torch.tensor([0.0, 0.5, -3.0, torch.nan], device=device)
        assert ops.gpu_oph_same(half).tolist() == [False, True, True, True]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradient(ops, dtype):
    x = torch.randn(1001, device="cuda", dtype=dtype, requires_grad=True)
    y = x.detach().double().requires_grad_()
    (dx,) = torch.autograd.grad(ops.gpu_oph_swish(x, beta=0.5).sum(), x)
    (dy,) = torch.autograd.grad((y * torch.sigmoid(0.5 * y)).sum(), y)
    torch.testing.assert_close(dx, dy.to(dtype))


def test_functions(ops):
    for dtype in (torch.float32, torch.float64):
        x = torch.cat(
            [torch.randn(5000, dtype=dtype) * 10, torch.tensor([0.0, -0.0, torch.inf, -torch.inf, torch.nan])]
        )
        wanted = (x.exp(), (x.abs() + 1).log(), x.tanh(), x.erf(), x.abs().sqrt(), x.sigmoid())
        for device in ("cpu", "cuda"):
            for result, right in zip(ops.gpu_oph_math(x.to(device)), wanted, strict=True):
                torch.testing.assert_close(result.cpu(), right, equal_nan=True)
    s, c = ops.gpu_oph_sincos(x.float()[:5000].cuda())
    torch.testing.assert_close((s.cpu(), c.cpu()), (x[:5000].float().sin(), x[:5000].float().cos().clamp(min=0)))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.float32], ids=str)
def test_integers(ops, dtype):
    x, y = (torch.arange(start, start + 999).to(dtype).cuda() for start in (3, 77))
    assert torch.equal(ops.gpu_oph_add_times(x, y, k=3), x + 3 * y)


def test_optional_attributes(ops):
    x = torch.randn(1000, device="cuda")
    for low in (None, 0.0, -0.5):
        for high in (None, 0.0, 0.7):
            right = x if low is None else x.clamp(min=low)
            right = right if high is None else right.clamp(max=high)
            assert torch.equal(ops.gpu_oph_clip(x, low=low, high=high), right), (low, high)


def test_own_cuda_kernel_and_refusals(ops):
    x = torch.randn(4, 33, device="cuda")
    assert torch.equal(ops.gpu_oph_copy(x), x)
    with pytest.raises(KernelNotFoundError, match='op "gpu_oph_rows"'):
        ops.gpu_oph_rows(x)
    with pytest.raises(KernelNotFoundError, match="float16"):
        ops.gpu_oph_math(x.half())


def test_compiled_planned_batched_and_streams(ops):
    x = torch.randn(64, 33, device="cuda")
    compiled = torch.compile(lambda x: ops.gpu_oph_swish(x + 1, beta=2.0) * 3, fullgraph=True)
    torch.testing.assert_close(compiled(x), swish(x + 1, 2.0) * 3)
    job = oneop.compile_job(lambda x: ops.gpu_oph_swish(x + 1, beta=2.0) * 3, (x,))
    for _ in range(3):
        x = torch.randn(64, 33, device="cuda")
        torch.testing.assert_close(job(x), swish(x + 1, 2.0) * 3)
    torch.testing.assert_close(torch.vmap(ops.gpu_oph_swish)(x), F.silu(x))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        big = torch.randn(1 << 22, device="cuda")
        y = ops.gpu_oph_swish(big)
    stream.synchronize()
    torch.testing.assert_close(y, F.silu(big))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rows(ops, dtype):
    """One functor of rows on both devices, for rows that a warp has, that a block has, and that stay in memory."""
    for rows, n in (
        (0, 5),
        (3, 0),
        (1, 1),
        (7, 33),
        (1001, 64),
        (5, 500),
        (5, 4096),
        (2, 4099),
        (3, 20_000),
        (2, 100_003),
    ):
        x, w = torch.randn(rows, n, device="cuda", dtype=dtype), torch.rand(n, device="cuda", dtype=dtype) + 0.5
        wide = w.double() * (1.5 * (x.double() - x.double().amax(-1, keepdim=True))).exp() if n else x.double()
        right = (wide / wide.sum(-1, keepdim=True)).to(dtype)
        y, top = ops.gpu_oph_softmax(x, w, scale=1.5)
        torch.testing.assert_close(y, right)
        if n:
            assert torch.equal(top, x.amax(-1))
        torch.testing.assert_close(ops.gpu_oph_softmax(x.cpu(), w.cpu(), scale=1.5)[0], right.cpu())


def test_places_in_rows(ops):
    for dtype in (torch.float32, torch.float16):
        for n in (1, 40, 3000, 50_000):
            x = torch.rand(9, n, device="cuda").to(dtype) + 0.25
            at = torch.arange(9, device="cuda") * n // 8
            x[torch.arange(8), at[:8].clamp(max=n - 1)] = -1.0
            y, first = ops.gpu_oph_turned(x)
            places = torch.arange(n, device="cuda")
            negative = torch.where(x < 0, places, n).amin(-1)
            assert torch.equal(first, negative)
            assert torch.equal(y, torch.where(places < negative[:, None], x, -x))


def test_rows_in_a_job(ops):
    x, w = torch.randn(6, 300, device="cuda"), torch.rand(300, device="cuda")
    job = oneop.compile_job(lambda x: ops.gpu_oph_softmax(x, w)[0], (x,))
    for _ in range(4):
        x = torch.randn(6, 300, device="cuda")
        torch.testing.assert_close(job(x), ops.gpu_oph_softmax(x, w)[0])
    assert "one CUDA graph" in str(job.plan())


def test_a_size_that_depends_on_data(ops):
    for size in (0, 1, 1000, 100_000):
        x = torch.randn(size, device="cuda")
        assert torch.equal(ops.gpu_h_positive(x), x[x > 0])
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(lambda x: ops.gpu_h_positive(x) * 2 + 1, fullgraph=True, dynamic=True)
        for size in (10, 1000):
            for x in (torch.randn(size, device="cuda"), -torch.ones(size, device="cuda")):
                assert torch.equal(compiled(x), x[x > 0] * 2 + 1)
    report = run_check("gpu_h_positive", Hints(reference=lambda x: x[x > 0]), only=ON_CUDA)
    assert report.ok, str(report)
