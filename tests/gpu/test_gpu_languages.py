"""Kernels in Triton and in CUDA source beside each other, for one op."""

import pytest
import torch

import oneop

pytestmark = pytest.mark.gpu

HEADER = """
template <typename T>
__global__ void TwiceAndOne(int n, const T* x, T* y) {
  CUDA_1D_KERNEL_LOOP(i, n) { y[i] = static_cast<T>(2 * static_cast<float>(x[i]) + 1); }
}
"""
BODY = "RUN_CUDA_KERNEL(TwiceAndOne<T>, ctx->device_ctx(), n, n, x, y);"


@pytest.fixture(scope="module")
def op():
    triton = pytest.importorskip("triton")
    from gpu_triton import affine_kernel, tuned_kernel

    op = oneop.define("gpu_affine(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cuda", dtypes=[torch.float32, torch.bfloat16], language="triton")
    def launch(x, out):
        n = out.numel()
        affine_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)

    tuned = oneop.define("gpu_tuned(Tensor x) -> Tensor y", infer="elementwise")

    @tuned.register_kernel("cuda", language="triton")
    def launch_tuned(x, out):
        n = out.numel()
        tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)

    return op, tuned


def test_triton(op):
    x = torch.randn(1000, device="cuda")
    torch.testing.assert_close(op[0](x), 2 * x)
    torch.testing.assert_close(op[1](x), 2 * x)
    torch.testing.assert_close(op[1](x.bfloat16()), 2 * x.bfloat16())


def test_triton_under_compile(op):
    x = torch.randn(1000, device="cuda")
    compiled = torch.compile(lambda x: op[1](op[0](x) + 1) * 3, fullgraph=True)
    torch.testing.assert_close(compiled(x), (2 * x + 1) * 6)


def test_triton_in_a_job(op):
    x = torch.randn(1000, device="cuda")
    job = oneop.compile_job(lambda x: op[0](x) + 1, (x,))
    for _ in range(4):
        x = torch.randn(1000, device="cuda")
        torch.testing.assert_close(job(x), 2 * x + 1)
    assert "one CUDA graph" in str(job.plan())


def test_cuda_source_wins_by_priority(op):
    x = torch.randn(1000, device="cuda")
    op[0].register_source("cuda", BODY, dtypes=[torch.float32, torch.float16], priority=1, header=HEADER)
    torch.testing.assert_close(op[0](x), 2 * x + 1)
    torch.testing.assert_close(op[0](x.half()), 2 * x.half() + 1)
    torch.testing.assert_close(op[0](x.bfloat16()), 2 * x.bfloat16())  # still Triton's


def test_source_with_the_elementwise_helper():
    op = oneop.define("gpu_cube(Tensor x) -> Tensor y", infer="elementwise")
    op.register_source(
        "cuda",
        "auto cube = [] __device__(T v) { return v * v * v; };\n"
        "OF_CUDA_CHECK(cuda::elementwise::Unary(cube, n, y, x, stream));",
        dtypes=[torch.float32, torch.float64],
    )
    for dtype in (torch.float32, torch.float64):
        x = torch.randn(1001, device="cuda", dtype=dtype)
        torch.testing.assert_close(op(x), x**3)
