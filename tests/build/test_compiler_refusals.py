"""Compilers that are missing or are not what they should be, each with its text."""

import sysconfig
from types import SimpleNamespace

import pytest

from oneop._build import compiler, core, cuda
from oneop.errors import BuildError


def refusal(function, *args):
    with pytest.raises(BuildError) as raised:
        function(*args)
    return str(raised.value)


def script(folder, text):
    """A program with this text."""
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_compiler_that_does_not_run(tmp_path):
    path = str(tmp_path / "none")
    assert refusal(compiler._ask_version, [path], "CXX").startswith(f"CXX: `{path} --version` does not run: ")


def test_a_compiler_that_fails(tmp_path):
    path = script(tmp_path, "echo no licence >&2; exit 3")
    assert refusal(compiler._ask_version, [path], "CXX") == f"CXX: `{path} --version` failed: no licence"


def test_an_nvcc_that_is_none(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC", "g++")
    text = refusal(cuda.find_toolkit)
    assert "expected nvcc, found " in text
    assert text.endswith("\n  set NVCC to nvcc, or CUDA_HOME to its toolkit")


def test_no_cuda(monkeypatch):
    for variable in ("NVCC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(cuda.shutil, "which", lambda name: None)
    monkeypatch.setattr(cuda.Path, "is_file", lambda self: False)
    assert refusal(cuda.find_toolkit) == (
        "no CUDA compiler: nvcc is not on PATH, and neither NVCC nor CUDA_HOME is set\n"
        "  install the CUDA toolkit, or set CUDA_HOME to it, or leave out the .cu sources"
    )


def test_no_headers_of_python(tmp_path, monkeypatch):
    monkeypatch.setattr(sysconfig, "get_path", lambda name, *rest: str(tmp_path))
    assert refusal(core.plan_core, SimpleNamespace()) == (
        f"the core needs Python.h, which is not in {tmp_path}\n"
        "  install the headers of this Python (Debian: apt install python3-dev)"
    )
