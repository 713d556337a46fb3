"""The core's build, with a tiny csrc in place of the real one."""

import importlib.util
import subprocess

import pytest

from oneop._build import core
from oneop._build.torch_install import TorchInstall, find_torch
from oneop.errors import BuildError
from quick_python import command

MODULE = """
#include <Python.h>
#include "answer.h"
static PyObject* f(PyObject*, PyObject*) { return PyLong_FromLong(answer()); }
static PyMethodDef methods[] = {{"answer", f, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", nullptr, -1, methods};
PyMODINIT_FUNC PyInit__core() { return PyModule_Create(&module); }
"""


@pytest.fixture
def csrc(project, monkeypatch):
    folder = project / "csrc"
    folder.mkdir()
    (folder / "answer.h").write_text("int answer();\n")
    (folder / "answer.cpp").write_text('#include "oneop/abi.h"\n#include "answer.h"\nint answer() { return 42; }\n')
    (folder / "module.cpp").write_text(MODULE)
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(folder))
    return folder


def test_builds_an_importable_module_and_says_so(csrc, capfd, monkeypatch):
    monkeypatch.setenv("MAX_JOBS", "1")
    path = core.core_path()
    version = find_torch().version
    assert capfd.readouterr() == (
        "",
        f"oneop: building the core for torch {version}: 2 of 2 files, 1 at a time "
        "(all files take two to three minutes of processor time) ...\n",
    )
    program = f"""
import torch, importlib.machinery, importlib.util
loader = importlib.machinery.ExtensionFileLoader("oneop._core", {str(path)!r})
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("oneop._core", loader))
loader.exec_module(module)
print(module.answer())
print(len({{line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line}}))
"""
    result = subprocess.run([*command(), "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "42\n1\n"


def test_the_second_time_starts_nothing_and_is_silent(csrc, capfd, monkeypatch):
    first = core.core_path(progress=False)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("subprocess.Popen", lambda *_, **__: pytest.fail("a process was started"))
    assert core.core_path() == first
    assert capfd.readouterr().err == ""


def test_one_edit_is_one_compile(csrc, runs):
    core.core_path(progress=False)
    assert sorted(runs()) == ["answer.cpp", "link", "module.cpp"]
    (csrc / "answer.cpp").write_text('#include "answer.h"\nint answer() { return 43; }\n')
    core.core_path(progress=False)
    assert runs() == ["answer.cpp", "link"]
    (csrc / "answer.h").write_text("int answer();  // the\n")
    core.core_path(progress=False)
    assert sorted(runs()) == ["answer.cpp", "link", "module.cpp"]


def test_a_rebuild_says_how_much_there_is_to_do(csrc, capfd):
    core.core_path(progress=False)
    (csrc / "answer.cpp").write_text('#include "answer.h"\nint answer() { return 43; }\n')
    core.core_path()
    assert ": 1 of 2 files, " in capfd.readouterr().err
    (csrc / "unused.h").touch()  # part of the sources, read by none: only linked again
    core.core_path()
    assert capfd.readouterr().err == ""


def test_the_same_sources_elsewhere_are_the_same_core(csrc, runs, monkeypatch):
    first = core.core_path(progress=False)
    runs()
    copy = csrc.rename(csrc.with_name("elsewhere"))
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(copy))
    assert core.core_path(progress=False) == first
    assert runs() == []


def test_another_torch_is_another_core(csrc, monkeypatch):
    first = core.core_path(progress=False)
    torch = find_torch()
    other = TorchInstall(folder=torch.folder, version="2.99.0", git_version=torch.git_version)
    monkeypatch.setattr(core, "find_torch", lambda: other)
    assert core.core_path(progress=False) != first


def test_by_hand(csrc, capfd):
    assert core.main([]) == 0
    path, outcome = capfd.readouterr().out.splitlines()
    assert path == str(core.core_path())
    assert outcome.startswith("built, ")
    (csrc / "answer.cpp").write_text("nonsense\n")
    assert core.main([]) == 1
    err = capfd.readouterr().err
    assert f'core "_core": compiling answer.cpp failed\n  {csrc}/answer.cpp:1: ' in err


def test_missing_sources(project, monkeypatch):
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(project))
    with pytest.raises(BuildError) as caught:
        core.core_path()
    assert str(caught.value) == (
        f"the sources of the core are not in {project}\n  install oneop again, or set ONEOP_CSRC_DIR to them"
    )


def test_missing_torch(csrc, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError) as caught:
        core.core_path()
    assert str(caught.value) == "the core needs torch, which is not installed\n  pip install torch"
