"""`oneop new`: projects that work at once. tests/test_tutorial.py benches one and ships it."""

import re
import shutil

import pytest

from oneop.cli.new import project_files
from oneop.packaging import build_library

KINDS = {
    "cpp": [],
    "cpp_grad": ["--kernels", "cpp,numpy", "--grad"],
    "ods": ["--ods", "--grad"],
    "numpy": ["--kernels", "numpy,triton", "--grad"],
}


@pytest.mark.parametrize(
    "kind", ["ods", "numpy", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("cpp", "cpp_grad"))]
)
def test_project_passes_its_check(oneop, process, tmp_path, kind):
    name = f"fresh_{kind}"
    status, out, err = oneop("new", name, "--dir", tmp_path, *KINDS[kind])
    assert status == 0 and f"cd {tmp_path / name}" in err
    assert f"{tmp_path}/{name}/src/{name}/__init__.py" in out.splitlines()
    families = ["memory", "reference", "gradient"] if kind != "cpp" else ["memory", "reference", "threads"]
    words = [word for one in families for word in ("--only", one)]
    result = process("check", *words, "--examples", 8, cwd=tmp_path / name)
    assert result.returncode == 0, result.stderr
    passed = re.findall(r"^  passed +(\w+) +\d+ calls", result.stdout, re.MULTILINE)
    # The gradient op of cpp_grad has no gradient itself: two families.
    assert sorted(passed) == sorted(families + (["memory", "reference"] if kind == "cpp_grad" else [])), result.stdout


@pytest.mark.slow  # tests/test_shipping.py builds such a library too
def test_what_a_wheel_of_a_project_brings(oneop, tmp_path):
    assert oneop("new", "wheel_ods", "--dir", tmp_path, *KINDS["ods"])[0] == 0
    assert build_library("wheel_ods", tmp_path / "wheel_ods/src/wheel_ods").is_file()


def test_kernels_of_all_kinds_are_written():
    files = project_files("my_op", ["cpp", "cuda", "triton", "numpy"], ods=True, grad=True)
    assert {path.rpartition("/")[2] for path in files} >= {"my_op.cpp", "my_op.td", "my_op.cu", "triton_kernel.py"}
    for path, text in files.items():
        assert "$" not in text.replace("$x", "").replace("$y", "").replace("$beta", ""), path
        if path.endswith(".py"):
            compile(text, path, "exec")


@pytest.mark.slow  # 10 s of nvcc for one kernel
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
