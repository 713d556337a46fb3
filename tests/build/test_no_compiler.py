"""What is built runs without a compiler, and without the headers of Python."""

import sysconfig
from pathlib import Path

import pytest

from oneop._build import core
from oneop._build.library import build
from oneop.errors import BuildError
from oneop.settings import settings

MODULE = """
#include <Python.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit__core() { return PyModule_Create(&module); }
"""


SOURCES = {"csrc/module.cpp": MODULE, "a.cpp": '#include "a.h"\n', "a.h": "int x;\n"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A library and a core, both built: their folder, with the cache in it, and their paths."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "csrc").mkdir()
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    with settings.override(cache_dir=folder / "cache", csrc_dir=folder / "csrc"):
        return folder, build("a", folder / "a.cpp").path, core.core_path(progress=False)


@pytest.fixture
def built(made, monkeypatch):
    """The library and the core, the working folder with their sources as they were; nothing is on PATH."""
    folder, *paths = made
    for name, text in SOURCES.items():
        if (folder / name).read_text() != text:
            (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(folder / "csrc"))
    monkeypatch.setenv("PATH", "/nowhere")
    return paths


def test_the_same_sources(built):
    library = build("a", "a.cpp")
    assert library.cached and library.path == built[0]


def test_the_core(built, monkeypatch):
    assert core.core_path() == built[1]
    paths = sysconfig.get_path
    monkeypatch.setattr(
        sysconfig, "get_path", lambda name, *rest: "/nowhere" if name == "include" else paths(name, *rest)
    )
    assert core.core_path() == built[1]


def test_the_core_of_a_compiler_that_was_named_then(built, monkeypatch):
    """An image is built with CXX=g++ and run without."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("CXX", "g++")
    Path("csrc/module.cpp").write_text(MODULE + "// another\n")
    path = core.core_path(progress=False)
    library = build("a", "a.cpp", defines={"N": 1})
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "/nowhere")
    assert core.core_path() == path
    assert build("a", "a.cpp", defines={"N": 1}).path == library.path


@pytest.mark.parametrize("edit", ["a.cpp", "a.h"])
def test_changed_sources_need_one(built, edit):
    Path(edit).write_text("int y;\n")
    with pytest.raises(BuildError) as caught:
        build("a", "a.cpp")
    assert str(caught.value) == (
        "no C++ compiler: none of g++, clang++ and c++ is on PATH\n"
        "  install one (Debian: apt install g++, conda: conda install cxx-compiler), or set CXX to its path"
    )


def test_a_changed_core_needs_one(built):
    Path("csrc/module.cpp").write_text(MODULE + "// a third\n")
    with pytest.raises(BuildError, match=r"^no C\+\+ compiler"):
        core.core_path()


def test_a_compiler_that_is_named_and_missing_is_an_error_for_new_work_only(built, monkeypatch):
    monkeypatch.setenv("CXX", "/no/such/g++")
    with pytest.raises(BuildError) as caught:
        build("a", "a.cpp")
    assert str(caught.value) == "CXX=/no/such/g++: /no/such/g++ is not there or cannot be run"
    assert core.core_path() == built[1]


def test_nothing_is_run_for_what_is_there(built, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    build("a", "a.cpp")

    def refuse(*arguments, **_):
        raise AssertionError(f"started {arguments}")

    monkeypatch.setattr("subprocess.Popen", refuse)
    assert build("a", "a.cpp").cached
    assert core.core_path() == built[1]
