"""CUDA kernels on a device: values, gradients, streams, and what is said when something is wrong."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import oneop
from oneop.errors import ArgumentError, KernelNotFoundError

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[2]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
SIZES = [0, 1, 3, 7, 8, 31, 1000, 4096, 100_003]


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_helper(leaky_relu, dtype):
    for n in SIZES:
        x = torch.randn(n, device="cuda", dtype=dtype, requires_grad=True)
        y = leaky_relu(x, alpha=0.25)
        torch.testing.assert_close(y, F.leaky_relu(x, 0.25))
        dy = torch.randn_like(y)
        (dx,) = torch.autograd.grad(y, x, dy)
        torch.testing.assert_close(dx, torch.where(x > 0, dy, 0.25 * dy))


@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_helper_at_any_address(leaky_relu, dtype):
    base = torch.randn(5000, device="cuda", dtype=dtype)
    for start in range(1, 9):
        x = base[start : start + 4001]  # contiguous, not aligned
        torch.testing.assert_close(leaky_relu(x, alpha=0.5), F.leaky_relu(x, 0.5))
    turned = base.view(50, 100).t()
    torch.testing.assert_close(leaky_relu(turned, alpha=0.5), F.leaky_relu(turned, 0.5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("count", "cols"), [(1, 1), (3, 33), (7, 1000), (64, 1024), (5, 4093), (130, 4096), (9, 16384)]
)
def test_rows(rows, dtype, count, cols):
    x = torch.randn(count, cols, device="cuda", dtype=dtype, requires_grad=True)
    dy = torch.randn_like(x)
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype is not torch.float32 else {"rtol": 1e-4, "atol": 1e-4}

    y, expected = rows.row_softmax(x), torch.softmax(x, -1)
    torch.testing.assert_close(y, expected, **close)
    torch.testing.assert_close(torch.autograd.grad(y, x, dy), torch.autograd.grad(expected, x, dy), **close)

    gamma = torch.randn(cols, device="cuda", dtype=dtype, requires_grad=True)
    beta = torch.randn(cols, device="cuda", dtype=dtype, requires_grad=True)
    y = rows.row_layer_norm(x, gamma, beta)[0]
    expected = F.layer_norm(x.double(), (cols,), gamma.double(), beta.double()).to(dtype)
    torch.testing.assert_close(y, expected, **close)
    ours = torch.autograd.grad(y, (x, gamma, beta), dy)
    theirs = torch.autograd.grad(expected, (x, gamma, beta), dy)
    for mine, other in zip(ours, theirs, strict=True):
        scale = max(float(other.abs().max()), 1.0)
        torch.testing.assert_close(mine / scale, other / scale, **close)


def test_runs_on_the_current_stream(leaky_relu):
    x = torch.zeros(1 << 22, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        x.fill_(-4)  # late: a kernel on another stream would see zeros
        y = leaky_relu(x, alpha=0.5)
    stream.synchronize()
    assert torch.equal(y, torch.full_like(x, -2))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_runs_on_the_device_of_its_inputs(leaky_relu):
    x = torch.randn(100, device="cuda:1")
    with torch.cuda.device(0):
        assert leaky_relu(x, alpha=0.5).device == x.device


def test_host_memory_input(gpu_ops):
    x = torch.arange(4.0, device="cuda")
    for factor in (torch.tensor([3.0]), torch.tensor([3.0], device="cuda")):
        assert torch.equal(gpu_ops.gpu_scaled(x, factor), 3 * x)


def test_inputs_on_different_devices(leaky_relu):
    with pytest.raises(ArgumentError) as caught:
        oneop.ops.leaky_relu_grad(torch.ones(3, device="cuda"), torch.ones(3), alpha=0.5)
    text = str(caught.value)
    assert "its inputs are on different devices\n  x: cuda:0\n  dy: cpu\n  move them to one device" in text


def test_cpu_kernel_and_cuda_tensors(leaky_relu):
    x = torch.randn(10, device="cuda")
    with pytest.raises(KernelNotFoundError) as caught:
        oneop.ops.leaky_relu_parallel(x)
    text = str(caught.value)
    assert 'no kernel for op "leaky_relu_parallel" on cuda' in text
    assert "or let such calls run on the cpu, with copies: oneop.config.cpu_fallback(True)" in text


def test_cpu_fallback(leaky_relu):
    x = torch.randn(10, device="cuda", requires_grad=True)
    oneop.config.cpu_fallback(True)
    try:
        with pytest.warns(UserWarning, match='op "leaky_relu_parallel" has no kernel for cuda:0: it runs on the cpu'):
            y = oneop.ops.leaky_relu_parallel(x, alpha=0.5)
        assert y.device == x.device
        torch.testing.assert_close(y, F.leaky_relu(x, 0.5))
        y.sum().backward()
        torch.testing.assert_close(x.grad, torch.where(x > 0, 1.0, 0.5))
    finally:
        oneop.config.cpu_fallback(False)


@pytest.mark.gpu_fault
def test_launch_error(gpu_ops):
    with pytest.raises(RuntimeError) as caught:
        gpu_ops.gpu_bad_launch(torch.ones(3, device="cuda"))
    text = str(caught.value)
    assert "gpu_bad_launch" in text and "gpu_ops.cu:" in text
    assert "a CUDA kernel could not be launched: invalid " in text
    assert torch.ones(3, device="cuda").sum() == 3  # the device is still of use


@pytest.mark.gpu_fault
@pytest.mark.parametrize("call", ["ops.gpu_trap(x)", "oneop.compile_job(ops.gpu_trap, (x,))(x)"])
def test_late_errors_are_named_when_asked_for(gpu_ops, call):
    script = f"""
        import torch, oneop
        ops = oneop.load("gpu_ops", [{str(ROOT / "tests/gpu/sources/gpu_ops.cu")!r}])
        oneop.config.sync_kernels(True)
        x = torch.ones(3, device="cuda")
        try:
            {call}
        except RuntimeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert 'op "gpu_trap": its kernel at ' in done.stdout and "gpu_ops.cu:" in done.stdout, done.stderr


def test_autocast_and_bf16_training(leaky_relu):
    model = torch.nn.Linear(16, 16, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x, t = torch.randn(64, 16, device="cuda"), torch.randn(64, 16, device="cuda")
    oneop.register_autocast("leaky_relu", "low")
    try:
        losses = []
        for _ in range(30):
            with torch.autocast("cuda", torch.bfloat16):
                y = leaky_relu(model(x), alpha=0.1)
                assert y.dtype is torch.bfloat16
                assert leaky_relu(x, alpha=0.1).dtype is torch.bfloat16
                loss = F.mse_loss(y.float(), t)
            optimizer.zero_grad()
            loss.backward()
            assert model.weight.grad.dtype is torch.float32
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.9 * losses[0]
    finally:
        oneop.register_autocast("leaky_relu", None)


def test_compile(leaky_relu):
    @torch.compile(fullgraph=True)
    def f(x):
        return leaky_relu(x * 2, alpha=0.5) + 1

    x = torch.randn(100, device="cuda", requires_grad=True)
    torch.testing.assert_close(f(x), F.leaky_relu(x * 2, 0.5) + 1)
    f(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.where(x > 0, 2.0, 1.0))


def test_a_kernel_that_cannot_be_recorded_is_left_out_of_cuda_graphs(gpu_ops, leaky_relu):
    """torch.compile(mode="reduce-overhead") would fail as a whole else."""
    assert torch.Tag.cudagraph_unsafe in torch.ops.oneop.gpu_synchronises.default.tags
    assert torch.Tag.cudagraph_unsafe not in torch.ops.oneop.leaky_relu.default.tags

    @torch.compile(mode="reduce-overhead", fullgraph=True)
    def program(x):
        return gpu_ops.gpu_synchronises(leaky_relu(x + 1, alpha=0.5)) * 3

    for _ in range(4):
        x = torch.randn(1000, device="cuda")
        with torch.no_grad():
            result = program(x)
            torch.testing.assert_close(result, 6 * torch.nn.functional.leaky_relu(x + 1, 0.5))
