"""Cores that a wheel brings: the one that fits is chosen, and what does not fit is told. With a tiny csrc."""

import json
import subprocess
from dataclasses import replace

import pytest

from oneop._build import prebuilt
from oneop._build.elf import read_elf
from oneop._build.torch_install import find_torch
from oneop.errors import BuildError
from oneop.settings import settings
from quick_python import command

MODULE = """
#include <Python.h>
#include <c10/core/CPUAllocator.h>
static PyObject* f(PyObject*, PyObject*) { return PyBool_FromLong(c10::GetCPUAllocator() != nullptr); }
static PyMethodDef methods[] = {{"answer", f, METH_NOARGS, nullptr}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", nullptr, -1, methods};
PyMODINIT_FUNC PyInit__core() { return PyModule_Create(&module); }
"""
LOAD = """
import sys, torch, importlib.util
spec = importlib.util.spec_from_file_location("oneop._core", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(module.answer())
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a wheel's cores, with the one for the installed torch."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "csrc").mkdir()
    (folder / "csrc/module.cpp").write_text(MODULE)
    settings.csrc_dir, settings.cache_dir = folder / "csrc", folder / "cache"
    try:
        prebuilt.make_prebuilt(folder / "_cores")
    finally:
        del settings.csrc_dir, settings.cache_dir
    return folder / "_cores"


@pytest.fixture
def cores(made, tmp_path, monkeypatch):
    """A copy of it, which a test may damage."""
    copy = tmp_path / "_cores"
    subprocess.run(["cp", "-r", made, copy], check=True)
    monkeypatch.setattr(prebuilt, "CORES", copy)
    return copy


def core_in(cores):
    return cores / find_torch().minor / prebuilt.core_file_name()


def edit(cores, **facts):
    path = core_in(cores).with_name("core.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))


def test_the_core_of_the_installed_torch_is_chosen(cores):
    choice = prebuilt.choose(find_torch())
    assert choice.path == core_in(cores) and not choice.is_damage
    assert choice.why.startswith(f"the wheel's core for torch {find_torch().minor}, compiled with g")


def test_it_has_no_path_of_this_machine_and_loads_after_torch(cores):
    elf = read_elf(core_in(cores))
    assert elf.rpath == () and elf.runpath == () and "libc10.so" in elf.needed
    result = subprocess.run([*command(), "-c", LOAD, core_in(cores)], capture_output=True, text=True, check=False)
    assert result.stdout == "True\n", result.stderr


def test_another_build_of_the_same_version_shares_it(cores):
    torch = find_torch()
    other = replace(torch, version=f"{torch.minor}.9+cu999", git_version="another")
    assert prebuilt.choose(other).path == core_in(cores)


def test_a_torch_that_the_wheel_does_not_know(cores):
    choice = prebuilt.choose(replace(find_torch(), version="2.99.1"))
    assert choice == prebuilt.Choice(why=f"the wheel has cores for torch {find_torch().minor}, not for 2.99.1")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("python", "cpython-27", "the wheel's core has python cpython-27, here it is cpython-"),
        ("cxx11_abi", False, "the wheel's core has cxx11_abi False, here it is True"),
        ("machine", "vax", "the wheel's core has machine vax, here it is "),
        ("torch", "1.0", "the wheel's core has torch 1.0, here it is 2."),
        ("oneop", "9.9", "the wheel's core has oneop 9.9, here it is "),
    ],
)
def test_what_does_not_fit_is_named(cores, name, value, text):
    edit(cores, **{name: value})
    choice = prebuilt.choose(find_torch())
    assert choice.path is None and choice.why.startswith(text) and not choice.is_damage


@pytest.mark.parametrize("damage", ["cut", "gone", "json", "no json", "list"])
def test_damage_is_told(cores, damage):
    core, facts = core_in(cores), core_in(cores).with_name("core.json")
    if damage == "cut":
        core.write_bytes(core.read_bytes()[:500])
    elif damage == "gone":
        core.unlink()
    elif damage == "no json":
        facts.unlink()
    else:
        facts.write_text("[]" if damage == "list" else "{")
    hurt = core if damage in ("cut", "gone") else facts
    choice = prebuilt.choose(find_torch())
    assert choice == prebuilt.Choice(why=f"{hurt} is missing or damaged", is_damage=True)


def test_who_asks_for_another_core_gets_it(cores, monkeypatch, tmp_path):
    monkeypatch.setenv("ONEOP_PREBUILT", "0")
    assert prebuilt.choose(find_torch()).why == "ONEOP_PREBUILT=0 asks for one that is built here"
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(tmp_path))
    assert prebuilt.choose(find_torch()).why == "ONEOP_CSRC_DIR asks for a core of other sources"


def test_a_checkout_brings_none():
    assert prebuilt.choose(find_torch()).why == "this installation brings no compiled cores"


def test_by_hand(made, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(tmp_path / "nothing"))
    assert prebuilt.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("the sources of the core are not in ")
    with pytest.raises(BuildError):
        prebuilt.make_prebuilt(tmp_path)
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(made.parent / "csrc"))
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(made.parent / "cache"))
    assert prebuilt.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / find_torch().minor}\n"
