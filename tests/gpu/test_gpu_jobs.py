"""Jobs on a device: CUDA graphs, pinned memory, and kernels that must run on the CPU."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import oneop
from oneop import typing as tp

pytestmark = pytest.mark.gpu
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def new_session():
    oneop.clear_default_session()


def test_predict_job_becomes_a_cuda_graph(leaky_relu):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3, 4))) -> tp.Numpy:
        with oneop.scope.placement("gpu", "0:0"):
            return leaky_relu(leaky_relu(x, alpha=0.5) * 2, alpha=0.5)

    assert "one CUDA graph, recorded at the second run" in str(job.plan())
    for factor in (1, 2, -3, 4):
        x = X * factor
        np.testing.assert_allclose(job(x), np.where(x > 0, 2 * x, 0.5 * x), rtol=1e-6)
    assert "\none CUDA graph\n" in str(job.plan())


def test_waiting_for_each_kernel_puts_the_graph_off(leaky_relu):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3, 4))) -> tp.Numpy:
        with oneop.scope.placement("gpu", "0:0"):
            return leaky_relu(x, alpha=0.5) * 3

    oneop.config.sync_kernels(True)
    try:
        for factor in (1, -2, 3):
            np.testing.assert_allclose(job(X * factor), 3 * np.where(X * factor > 0, X * factor, X * factor / 2))
        assert "one CUDA graph, recorded at the second run" in str(job.plan())
    finally:
        oneop.config.sync_kernels(False)
    np.testing.assert_allclose(job(X), 3 * np.where(X > 0, X, X / 2))
    assert "\none CUDA graph\n" in str(job.plan())


def test_results_are_copies(leaky_relu):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3, 4))) -> tp.Numpy:
        with oneop.scope.placement("cuda", "0:0"):
            return leaky_relu(x, alpha=0.5)

    first = [job(X * i).copy() for i in range(4)]
    kept = [job(X * i) for i in range(4)]
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)


def test_kernel_that_cannot_be_recorded(gpu_ops):
    def double(x, factor):
        return gpu_ops.gpu_scaled(x, factor) + 1

    x, factor = torch.arange(3.0, device="cuda"), torch.full((1,), 2.0, device="cuda")

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        with oneop.scope.placement("gpu", "0:0"):
            return gpu_ops.gpu_bad_launch(x)

    text = str(job.plan())
    assert "no CUDA graph: step 0, oneop::gpu_bad_launch: its kernel at " in text
    assert "does not say that it can be recorded" in text
    assert torch.equal(double(x, factor), 2 * x + 1)


def test_python_kernel_runs_on_the_cpu(leaky_relu):
    op = oneop.define("gpu_job_twice(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def twice(x, out):
        np.multiply(x, 2, out=out)

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3, 4))) -> tp.Numpy:
        with oneop.scope.placement("gpu", "0:0"):
            return leaky_relu(op(leaky_relu(x, alpha=0.5)), alpha=0.5)

    for factor in (1, 2, 3):
        x = X * factor
        np.testing.assert_allclose(job(x), np.where(x > 0, 2 * x, 0.5 * x), rtol=1e-6)
    text = str(job.plan())
    assert "gpu_job_twice (copied to the cpu: 1, back: 1)" in text
    assert "no CUDA graph: step 1, oneop::gpu_job_twice, runs on the cpu" in text


def test_tensor_job_on_cuda_tensors(leaky_relu):
    def f(x, w):
        return leaky_relu(x @ w, alpha=0.5), x + 1

    x, w = torch.randn(8, 16, device="cuda"), torch.randn(16, 4, device="cuda")
    job = oneop.compile_job(f, (x, w))
    for _ in range(4):
        x = torch.randn(8, 16, device="cuda")
        first, second = job(x, w)
        assert first.device == x.device
        torch.testing.assert_close(first, F.leaky_relu(x @ w, 0.5))
        torch.testing.assert_close(second, x + 1)
    assert "one CUDA graph" in str(job.plan())


def train(device, steps=40):
    oneop.clear_default_session()

    @oneop.global_function(type="train")
    def step(x: tp.Numpy.Placeholder((32, 8)), t: tp.Numpy.Placeholder((32,), dtype=oneop.int64)) -> tp.Numpy:
        with oneop.scope.placement(device, "0:0"):
            w = oneop.get_variable("w", (8, 16), initializer=oneop.constant_initializer(0.1))
            v = oneop.get_variable("v", (16, 4), initializer=oneop.constant_initializer(-0.1))
            logits = oneop.ops.leaky_relu(x @ w, alpha=0.1) @ v
            loss = F.cross_entropy(logits, t)
            oneop.optimizer.Adam(oneop.optimizer.PiecewiseConstantScheduler([20], [0.05, 0.01])).minimize(loss)
        return loss

    rng = np.random.default_rng(0)
    losses = []
    for _ in range(steps):
        x = rng.standard_normal((32, 8), dtype=np.float32)
        losses.append(float(step(x, (x[:, 0] > 0).astype(np.int64))))
    return losses, str(step.plan())


def test_train_job_as_a_cuda_graph(leaky_relu):
    on_cpu, _ = train("cpu")
    on_gpu, plan = train("gpu")
    assert "\none CUDA graph\n" in plan
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-4)
    assert on_gpu[-1] < on_gpu[0]
