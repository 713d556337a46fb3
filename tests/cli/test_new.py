"""`oneop new`: projects that work at once."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from oneop._build.cache import cache_root
from oneop.cli.new import project_files

ROOT = Path(__file__).parents[2]
KINDS = {
    "cpp": [],
    "cpp_grad": ["--kernels", "cpp,numpy", "--grad"],
    "ods": ["--ods", "--grad"],
    "numpy": ["--kernels", "numpy,triton", "--grad"],
}


@pytest.mark.parametrize("kind", KINDS)
def test_project_passes_its_check(oneop, process, tmp_path, kind):
    name = f"fresh_{kind}"
    status, out, err = oneop("new", name, "--dir", tmp_path, *KINDS[kind])
    assert status == 0 and f"cd {tmp_path / name}" in err
    assert f"{tmp_path}/{name}/src/{name}/__init__.py" in out.splitlines()
    families = ["memory", "reference", "gradient"] if kind != "cpp" else ["memory", "reference", "threads"]
    result = process("check", *(word for one in families for word in ("--only", one)), cwd=tmp_path / name)
    assert result.returncode == 0, result.stderr
    # A line for each family and one for the op. The gradient op of cpp_grad has no gradient itself: two families.
    assert result.stdout.count("passed ") == 3 + 1 + (2 if kind == "cpp_grad" else 0), result.stdout


def test_project_benches_and_builds_a_wheel(oneop, process, tmp_path):
    oneop("new", "fresh_wheel", "--dir", tmp_path, "--grad", "--ods")
    folder = tmp_path / "fresh_wheel"
    result = process("bench", "--sizes", "1000", "--seconds", "0.02", "--plot", "p.svg", cwd=folder)
    assert result.returncode == 0 and "✓" in result.stdout and (folder / "p.svg").is_file(), result.stderr
    build = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--quiet", ".", "-w", "dist"]
    made = subprocess.run(build, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stderr
    [wheel] = (folder / "dist").glob("*.whl")
    assert "-py3-none-linux_" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "installed")
    assert "fresh_wheel/fresh_wheel.so" in names and "fresh_wheel/fresh_wheel.cpp" in names
    content = (tmp_path / "installed/fresh_wheel/fresh_wheel.so").read_bytes()
    assert not [path for path in (tmp_path, ROOT, cache_root()) if str(path).encode() in content]
    program = (
        "import torch, oneop; print(oneop.ops.fresh_wheel(torch.ones(2)).shape);"
        "print(oneop.get_op('fresh_wheel').source.library)"
    )
    env = {**os.environ, "PYTHONPATH": f"{tmp_path / 'installed'}:{ROOT / 'src'}"}
    run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert "torch.Size([2])" in run.stdout and "installed/fresh_wheel/fresh_wheel.so" in run.stdout, run.stderr


def test_what_get_started_prints_works(oneop, tmp_path):
    """The lines under "From Python", after the editable install that stands before them."""
    text = (ROOT / "docs/get_started.md").read_text()
    command = "pip install --no-build-isolation -e ."
    assert f"    cd myop\n    {command}\n" in text
    lines = text.partition("From Python:\n\n")[2].partition("\n\n")[0].splitlines()
    oneop("new", "fresh_start", "--dir", tmp_path, "--grad", "--kernels", "numpy")
    place = [f"--prefix={tmp_path / 'prefix'}", "--no-deps", "--quiet", "--disable-pip-version-check"]
    install = [sys.executable, "-m", *command.split(), *place]
    made = subprocess.run(
        install, cwd=tmp_path / "fresh_start", capture_output=True, text=True, timeout=300, check=False
    )
    assert made.returncode == 0, made.stderr
    [packages] = (tmp_path / "prefix").glob("lib*/python*/site-packages")
    program = [f"import site; site.addsitedir({str(packages)!r})"]
    program += [line.strip().replace("myop", "fresh_start") for line in lines] + ["print(x.grad.shape)"]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert run.stdout == "torch.Size([5])\n", run.stderr


def test_kernels_of_all_kinds_are_written():
    files = project_files("my_op", ["cpp", "cuda", "triton", "numpy"], ods=True, grad=True)
    assert {path.rpartition("/")[2] for path in files} >= {"my_op.cpp", "my_op.td", "my_op.cu", "triton_kernel.py"}
    for path, text in files.items():
        assert "$" not in text.replace("$x", "").replace("$y", "").replace("$beta", ""), path
        if path.endswith(".py"):
            compile(text, path, "exec")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_cuda_source_compiles(tmp_path):
    import oneop

    files = project_files("fresh_cuda", ["cpp", "cuda"], ods=False, grad=False)
    for path, text in files.items():
        if path.endswith((".cpp", ".cu")):
            (tmp_path / path.rpartition("/")[2]).write_text(text)
    assert oneop.build("fresh_cuda", sorted(tmp_path.iterdir())).path.is_file()


def test_names_that_cannot_be(oneop, tmp_path):
    assert "'my-op' cannot be the name of an op" in oneop("new", "my-op")[2]
    assert "expected some of cpp, cuda, triton, numpy, found 'rust'" in oneop("new", "x", "--kernels", "rust")[2]
    (tmp_path / "there").mkdir()
    status, _, err = oneop("new", "there", "--dir", tmp_path)
    assert status == 2 and "is there already" in err


@pytest.mark.parametrize(
    "name, reason",
    [
        ("torch", "`import torch` brings a package that oneop works with, torch\n  choose another: my_torch"),
        ("oneop", "`import oneop` brings oneop itself"),
        ("json", "`import json` brings a module of Python's standard library"),
        ("pytest", "`import pytest` brings an installed package"),
    ],
)
def test_names_that_are_taken(oneop, tmp_path, name, reason):
    status, out, err = oneop("new", name, "--dir", tmp_path)
    assert (status, out, list(tmp_path.iterdir())) == (2, "", [])
    assert f"'{name}' cannot be the name of a project: {reason}" in err
