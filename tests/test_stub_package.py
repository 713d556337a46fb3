"""Stubs that type checkers find: seeded errors in a user's script are reported."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from oneop.cli.main import main
from oneop.model.stub_package import stub_package
from oneop.packaging import write_stubs
from oneop.registry import isolated

ROOT = Path(__file__).parents[1]

#: A torch that a checker has read at once; what oneop itself needs of it is not looked at here.
TORCH = """
from typing import Any
class Tensor: ...
def ones(*sizes: int) -> Tensor: ...
def __getattr__(name: str) -> Any: ...
"""
#: Else a checker reads a thousand files of torch for oneop's own imports.
MYPY = """
[mypy]
[mypy-torch]
follow_imports = normal
[mypy-torch.*,numpy.*,hypothesis.*,yaml.*,filelock.*]
follow_imports = skip
"""
PROGRAM = """\
import oneop
import torch

x = torch.ones(3)
right: torch.Tensor = oneop.ops.leaky_relu(x, alpha=0.5)
oneop.ops.leaky_relu(x, alpha="big")  # wrong
oneop.ops.leaky_relu()  # wrong
oneop.ops.leaky_relu(x, 0.5)  # wrong
length: int = oneop.ops.leaky_relu(x)  # wrong
oneop.ops.of_another_package(1)
oneop.settings.verbos  # wrong
"""
WRONG = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if "# wrong" in line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a program and the stub package that `oneop gen` writes, and a small torch."""
    folder = tmp_path_factory.mktemp("stubs")
    with isolated():
        source = ROOT / "examples/leaky_relu/leaky_relu.cpp"
        assert main(["gen", str(source), "--stubs", "-o", str(folder / "path")]) == 0
    (folder / "torch").mkdir()
    (folder / "torch/__init__.pyi").write_text(TORCH)
    (folder / "mypy.ini").write_text(MYPY)
    (folder / "program.py").write_text(PROGRAM)
    return folder


def reported(folder, *command):
    """Run a checker; return the lines of the program that it complains about."""
    path = os.pathsep.join([str(folder / "path"), str(ROOT / "src")])
    env = {**os.environ, "PYTHONPATH": path, "MYPYPATH": str(folder)}
    result = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False)
    lines = [line for line in result.stdout.splitlines() if "program.py:" in line and "error" in line]
    assert lines, result.stdout + result.stderr
    return sorted({int(line.partition("program.py:")[2].partition(":")[0]) for line in lines})


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_mypy_reports_seeded_errors(folder):
    assert reported(folder, sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "program.py") == WRONG


@pytest.mark.skipif(importlib.util.find_spec("basedpyright") is None, reason="needs basedpyright: make setup")
def test_pyright_reports_seeded_errors(folder):
    # As pyright itself: what basedpyright adds to it is left out.
    settings = {"typeCheckingMode": "standard", "extraPaths": ["path", str(ROOT / "src")], "include": ["program.py"]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    assert reported(folder, sys.executable, "-m", "basedpyright", "program.py") == WRONG


def test_files_of_the_package(folder):
    assert sorted(path.name for path in (folder / "path").rglob("*") if path.is_file()) == ["ops.pyi", "py.typed"]
    assert stub_package({}) == {}


def test_a_library_that_cannot_be_loaded_gets_none(tmp_path):
    (tmp_path / "broken.so").write_bytes(b"no library")
    with pytest.warns(UserWarning, match=r"the wheel gets no type stubs: broken\.so could not be loaded: "):
        write_stubs(tmp_path / "broken.so", tmp_path / "stubs")
    assert not (tmp_path / "stubs").exists()
