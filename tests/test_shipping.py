"""examples/shipping: a package whose wheel brings a compiled op, found by its entry point."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from oneop._build.cache import cache_root
from oneop.packaging import write_certificate
from quick_python import command, executable

ROOT = Path(__file__).parents[1]
#: What certificates are made of here, unless a test is slow. What a check finds is not the point.
BRIEF = "--only reference --only memory --examples 4"
PROGRAM = """
import sys, torch, oneop
assert "fast_gelu" not in sys.modules
x = torch.randn(9, dtype=torch.float64, requires_grad=True)
y = oneop.ops.fast_gelu(x)  # nothing imported it: the entry point did
torch.testing.assert_close(y, torch.nn.functional.gelu(x, approximate="tanh"))
assert torch.autograd.gradcheck(oneop.ops.fast_gelu, x)
print(oneop.get_op("fast_gelu").source.library)
"""


def python_with(options, folder):
    """Return a program that runs Python, and checks of ops with more options."""
    program = folder / "python"
    more = f'case "$*" in *"oneop check "*) set -- "$@" {options};; esac'
    program.write_text(f'#!/bin/sh\n{more}\nexec {executable()} "$@"\n')
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("options", [BRIEF, pytest.param("", marks=pytest.mark.slow)], ids=["brief", "whole"])
def test_wheel_brings_the_op(tmp_path, options):
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    source = ROOT / "examples/shipping/fast_gelu"
    copy = tmp_path / "source"
    subprocess.run(["cp", "-r", str(source), str(copy)], check=True)
    setup = copy / "setup.py"
    text = setup.read_text().replace('build_ops("fast_gelu")', 'build_ops("fast_gelu", certificate=True)')
    setup.write_text(
        f"import sys\n\nsys.executable = {python_with(options, tmp_path)!r}  # for the checks of the ops\n{text}"
    )
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--quiet", ".", "-w", "dist"]
    made = subprocess.run(pip, cwd=copy, env=env, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stderr
    [wheel] = (copy / "dist").glob("fast_gelu-1.0.0-py3-none-linux_*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    for file in installed.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        for path in (tmp_path, ROOT, cache_root()):
            assert str(path).encode() not in content, f"{file.relative_to(installed)} contains {path}"
    assert (installed / "oneop-stubs/py.typed").read_text() == "partial\n"
    assert "def fast_gelu(x: Tensor) -> Tensor:" in (installed / "oneop-stubs/ops.pyi").read_text()
    assert b"fast_gelu/fast_gelu.cpp" in (installed / "fast_gelu/fast_gelu.so").read_bytes()
    certificate = json.loads((installed / "fast_gelu/fast_gelu.so.certificate.json").read_text())
    assert certificate["ok"] and {entry["op"] for entry in certificate["ops"]} == {"fast_gelu"}
    assert str(tmp_path) not in json.dumps(certificate["files"])
    env["PYTHONPATH"] = f"{installed}:{ROOT / 'src'}"
    run = subprocess.run(
        [*command(), "-c", PROGRAM], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str(installed / "fast_gelu/fast_gelu.so")
    check_installed = [*command(), "-m", "oneop", "check", "fast_gelu", "--only", "reference"]
    checked = subprocess.run(
        check_installed, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert checked.returncode == 0 and "  passed   reference" in checked.stdout, checked.stdout + checked.stderr
    listed = subprocess.run(
        [*command(), "-m", "oneop", "list", "--load", "fast_gelu", "--json", "--coverage"],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert {entry["name"]: entry["certified"] for entry in json.loads(listed.stdout)}["fast_gelu"] is True


@pytest.mark.parametrize("options", [BRIEF, pytest.param("", marks=pytest.mark.slow)], ids=["brief", "whole"])
def test_wheel_of_wrong_ops_is_not_built(tmp_path, monkeypatch, options):
    package = tmp_path / "lib" / "shipped_wrong"
    package.mkdir(parents=True)
    (package / "shipped_wrong.so").write_bytes(b"")
    (package / "__init__.py").write_text(
        "import oneop\n"
        "op = oneop.define('shipped_wrong(Tensor x) -> Tensor y', infer='elementwise', differentiable=False)\n"
        "op.register_kernel('cpu')(lambda x: x * 3)\n"
        "oneop.testing.reference('shipped_wrong')(lambda x: x * 2)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setattr(sys, "executable", python_with(options, tmp_path))
    with pytest.raises(RuntimeError, match="the ops of shipped_wrong get no certificate:") as caught:
        write_certificate("shipped_wrong", package / "shipped_wrong.so")
    assert "the result differs from the reference" in str(caught.value)
    assert not list(package.glob("*.json"))
