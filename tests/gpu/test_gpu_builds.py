"""CUDA sources build on machines without a GPU, and see nothing of torch."""

import shutil
import subprocess
from pathlib import Path

import pytest

import oneop

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


@pytest.fixture(autouse=True)
def one_architecture(monkeypatch):
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")


@pytest.mark.parametrize(
    ("name", "sources"),
    [
        ("leaky_relu_gpu", ["examples/leaky_relu/leaky_relu.cpp", "examples/leaky_relu/leaky_relu.cu"]),
        ("cuda_rows", ["examples/cuda_rows/softmax.cu", "examples/cuda_rows/layer_norm.cu"]),
        ("gpu_ops", ["tests/gpu/sources/gpu_ops.cu"]),
    ],
)
def test_builds(name, sources):
    library = oneop.build(name, [ROOT / source for source in sources])
    symbols = subprocess.run(["nm", "-D", library.path], capture_output=True, text=True, check=True).stdout
    assert "oneop_plugin" in symbols
    needed = subprocess.run(["readelf", "-d", library.path], capture_output=True, text=True, check=True).stdout
    assert "libcudart" in needed
    assert "libtorch" not in needed and "libc10" not in needed


def test_loads_where_there_is_no_gpu():
    oneop.load(oneop.build("gpu_ops", [ROOT / "tests/gpu/sources/gpu_ops.cu"]))
    kernels = oneop.get_op("gpu_scaled").kernels
    assert [kernel.language for kernel in kernels] == ["cuda"]
