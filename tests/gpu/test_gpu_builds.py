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


ON_CPU = """
#include "oneop/op.h"
OP("gpu_half(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x / 2; }).no_grad();
"""
ON_GPU = """
#include "oneop/op.h"
using namespace oneop;
struct Half {
  template <class T>
  void operator()(View<const T> x, View<T> y, Attrs, Call& call) const {}
};
OP("gpu_only(Tensor x) -> Tensor y").same_shape().cuda_kernel<float>(Half()).no_grad();
OP_KERNELS("gpu_half(Tensor x) -> Tensor y").cuda_kernel<float>(Half());
ONEOP_FUNCTOR(Shift, x, k) { return max(x, 0) + k; }
OP("gpu_shift(Tensor x, *, int k) -> Tensor y").elementwise<float>(Shift()).no_grad();
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """A small library: ops with CPU kernels, with CUDA kernels and with both. nvcc takes ten seconds for it."""
    folder = tmp_path_factory.mktemp("beside")
    (folder / "op.cpp").write_text(ON_CPU)
    (folder / "op.cu").write_text(ON_GPU)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TORCH_CUDA_ARCH_LIST", "9.0")
        return oneop.build("gpu_beside", [folder / "op.cpp", folder / "op.cu"])


def assert_is_free_of_torch(library):
    symbols = subprocess.run(["nm", "-D", library.path], capture_output=True, text=True, check=True).stdout
    assert "oneop_plugin" in symbols
    needed = subprocess.run(["readelf", "-d", library.path], capture_output=True, text=True, check=True).stdout
    assert "libcudart" in needed
    assert "libtorch" not in needed and "libc10" not in needed


@pytest.mark.slow
def test_a_small_library_builds(beside):
    assert_is_free_of_torch(beside)


@pytest.mark.slow
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
    assert_is_free_of_torch(oneop.build(name, [ROOT / source for source in sources]))


@pytest.mark.slow
def test_loads_where_there_is_no_gpu(beside):
    """OP_KERNELS: an op has its CPU kernels in one file and its CUDA kernels in the other; functors serve both."""
    library = oneop.load(beside)
    wanted = {"gpu_half": ["c++", "cuda"], "gpu_shift": ["c++", "cuda"], "gpu_only": ["cuda"]}
    for name, languages in wanted.items():
        assert sorted(kernel.language for kernel in oneop.get_op(name).kernels) == languages
    assert library.gpu_half(torch.tensor([3.0])).tolist() == [1.5]
    assert library.gpu_shift(torch.tensor([3.0, -1.0]), k=2).tolist() == [5, 2]


@pytest.mark.slow
def test_a_library_of_cuda_sources_alone():
    oneop.load(oneop.build("gpu_ops", [ROOT / "tests/gpu/sources/gpu_ops.cu"]))
    kernels = oneop.get_op("gpu_scaled").kernels
    assert [kernel.language for kernel in kernels] == ["cuda"]


@pytest.mark.slow
def test_an_op_of_the_gallery():
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
