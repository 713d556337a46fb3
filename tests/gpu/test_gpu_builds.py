"""CUDA sources build on machines without a GPU, and see nothing of torch."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

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
        ("gallery_swiglu_gpu", ["examples/gallery/swiglu/op.cpp", "examples/gallery/swiglu/op.cu"]),
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


def test_kernels_of_a_file_beside():
    """OP_KERNELS: an op of the gallery has its CPU kernels in one file and its CUDA kernels in the other."""
    folder = ROOT / "examples/gallery/swiglu"
    sources = oneop.usable_sources(folder / "op.cpp", folder / "op.cu")
    library = oneop.load("gallery_swiglu", sources, package="beside")  # other tests load other builds of it
    for name in ("beside__swiglu", "beside__swiglu_grad"):
        kernels = oneop.get_op(name).kernels
        assert sorted(kernel.language for kernel in kernels) == ["c++"] * 4 + ["cuda"] * 4
    x = torch.randn(3, 10)
    torch.testing.assert_close(library.swiglu(x), torch.nn.functional.silu(x[:, :5]) * x[:, 5:])


def test_sources_that_are_of_use(monkeypatch):
    sources = [ROOT / "examples/gallery/swiglu" / name for name in ("op.cpp", "op.cu")]
    assert oneop.usable_sources(*sources) == sources
    monkeypatch.delenv("TORCH_CUDA_ARCH_LIST")
    assert oneop.usable_sources(*sources) == sources[: 1 + torch.cuda.is_available()]
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
    monkeypatch.setenv("NVCC", "/nowhere/nvcc")
    assert oneop.usable_sources(*sources) == sources[:1]
    assert oneop.usable_sources("op.cpp") == [Path("op.cpp")]
