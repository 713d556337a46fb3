"""oneop.jax on a GPU: kernels on the stream that XLA gives."""

from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from oneop._build.library import build  # noqa: E402

EXAMPLE = Path(__file__).parents[2] / "examples/leaky_relu"


def has_gpu():
    try:
        return bool(jax.devices("cuda"))
    except RuntimeError:
        return False


pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="jax sees no CUDA device")]


@pytest.fixture(scope="module")
def relu(tmp_path_factory):
    """The example under another name: tests of the same process load it without its CUDA kernels."""
    import oneop.jax

    folder = tmp_path_factory.mktemp("sources")
    for name in ("leaky_relu.cpp", "leaky_relu.cu"):
        (folder / name).write_text((EXAMPLE / name).read_text().replace("leaky_relu", "cuda_leaky_relu"))
    library = build("hosts_leaky_relu_cuda", [folder / "leaky_relu.cpp", folder / "leaky_relu.cu"])
    return oneop.jax.load(library).cuda_leaky_relu


def test_calls_and_gradients_on_the_gpu(relu):
    x = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    on_gpu = jax.device_put(x, jax.devices("cuda")[0])
    expected = np.where(x > 0, x, np.float32(0.25) * x)
    for call in (lambda x: relu(x, alpha=0.25), jax.jit(lambda x: relu(x, alpha=0.25))):
        result = call(on_gpu)
        assert next(iter(result.devices())).platform == "gpu"
        np.testing.assert_array_equal(result, expected)
    # Kernels before and after it are on the same stream.
    chain = jax.jit(lambda x: (relu(x * 2, alpha=0.25) + 1).sum())
    np.testing.assert_allclose(chain(on_gpu), (2 * expected.astype(np.float64) + 1).sum(), rtol=1e-4)
    grad = jax.jit(jax.grad(lambda x: relu(x, alpha=0.25).sum()))(on_gpu)
    np.testing.assert_array_equal(grad, np.where(x > 0, 1, 0.25))


def test_a_dtype_without_a_kernel(relu):
    with pytest.raises(RuntimeError, match='no kernel for op "cuda_leaky_relu" on cuda, dtype int32'):
        jax.block_until_ready(relu(jax.device_put(np.arange(3, dtype=np.int32), jax.devices("cuda")[0])))
