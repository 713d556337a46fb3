"""Both spellings of an op give one record; a .cu source has kernels for both devices; line counts of the page."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import oneop

ROOT = Path(__file__).parents[2]
INCLUDE = ROOT / "src" / "oneop" / "include"
PAGE = ROOT / "docs" / "op_h.md"


def blocks_of_page():
    return re.findall(r"^```cpp\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def block_of(name):
    (block,) = [block for block in blocks_of_page() if block.startswith(f"// {name}\n")]
    return block


def record_of(name):
    """Everything that is registered, without places and with one name; functors declare more about their bits."""
    text = re.sub(r"\S+\.(?:cpp|h):\d+", "PLACE", str(oneop.show(name))).replace("  deterministic  batch invariant", "")
    info = oneop.show(name)
    kernels = [
        (kernel.priority, kernel.predicate, kernel.language, kernel.devices, kernel.dtypes, kernel.others)
        for kernel in info.kernels
    ]
    rest = (info.schema, info.inputs, info.outputs, info.attrs, kernels)
    return text.replace(name, "NAME"), repr(rest).replace(name, "NAME")


def test_the_op_of_the_readme_is_that_of_the_page():
    readme = (ROOT / "README.md").read_text()
    ours = block_of("swish.cpp").replace("// swish.cpp\n", "").replace("swish", "fast_swish")
    assert "".join(ours.split()) in "".join(readme.split())


@pytest.mark.usefixtures("unoptimized")
def test_both_spellings_give_one_record():
    oneflow, ours = block_of("swish_oneflow.cpp"), block_of("swish.cpp")
    oneop.load_inline("oph_swish_page", ours.replace("swish", "oph_page"))
    oneop.load_inline("oph_swish_oneflow", oneflow.replace("swish_oneflow", "oph_oneflow"))
    assert record_of("oph_page") == record_of("oph_oneflow")
    assert record_of("oph_page_grad") == record_of("oph_oneflow_grad")
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        x = torch.randn(4, 3, dtype=dtype, requires_grad=True)
        results = [op(x, beta=3.0) for op in (oneop.ops.oph_page, oneop.ops.oph_oneflow)]
        torch.testing.assert_close(*results)
        torch.testing.assert_close(*[torch.autograd.grad(y.sum(), x)[0] for y in results])


def test_the_page_counts_its_lines():
    counts = {}
    for name in ("swish.cpp", "swish_oneflow.cpp"):
        lines = [line for line in block_of(name).splitlines()[1:] if line.strip()]
        counts[name] = len(lines)
        assert f"{len(lines)} lines" in PAGE.read_text()
    assert counts["swish.cpp"] <= 12
    swish = block_of("swish.cpp").splitlines()
    assert max(map(len, swish)) <= 100
    assert sum("elementwise<float, double, half, bfloat16>" in line for line in swish) == 2
    assert f"{counts['swish_oneflow.cpp']} lines in the other spelling" in " ".join(PAGE.read_text().split())


@pytest.mark.slow  # tests/gpu/test_gpu_builds.py has nvcc compile one
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_nvcc_compiles_functors(tmp_path):
    """tests/gpu/test_gpu_op_h.py runs them."""
    flags = ["-std=c++17", "--extended-lambda", "--expt-relaxed-constexpr", "-arch=sm_90", "-Xcompiler", "-fPIC"]
    result = subprocess.run(
        ["nvcc", *flags, f"-I{INCLUDE}", "-c", ROOT / "tests/gpu/sources/op_h.cu", "-o", tmp_path / "ops.o"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0 and "warning" not in result.stderr, result.stderr


def test_two_sources_and_an_op_of_another_library(ops, tmp_path):
    head = '#include "oneop/op.h"\n'
    (tmp_path / "a.cpp").write_text(
        head + 'OP("oph_a(Tensor x, *, int k=2) -> Tensor y").elementwise<double>([](auto x, auto k) '
        '{ return k * x; })\n    .gradient("dx = oph_b(dy, k=k)");\n'
    )
    (tmp_path / "b.cpp").write_text(
        head + 'OP("oph_b(Tensor y, *, float k) -> Tensor x").elementwise<double>([](auto y, auto k) '
        '{ return y * k; })\n    .gradient("dy = oph_swish_grad(x=y, dy=dx, beta=k).dx");\n'
    )
    library = oneop.load("oph_two_sources", [tmp_path / "a.cpp", tmp_path / "b.cpp"])
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    y = library.oph_a(x, k=3)
    (dx,) = torch.autograd.grad(y.sum(), x)
    assert torch.equal(y, 3 * x) and torch.equal(dx, torch.full_like(x, 3.0))
    (dy,) = torch.autograd.grad(library.oph_b(x, k=1.0).sum(), x)
    torch.testing.assert_close(dy, ops.oph_swish_grad(x.detach(), torch.ones_like(x), beta=1.0))
