"""Files of the cache that are damaged later: noticed before they are used, and made again."""

import ctypes
import json
import os
import shutil
import time

import pytest

from oneop._build import cache, core
from oneop._build.library import build, build_inline
from oneop.errors import BuildError, LoadError
from oneop.runtime.loader import load
from oneop.settings import settings

EXPORT = 'extern "C" __attribute__((visibility("default")))'


@pytest.fixture
def made(project):
    """A library of two sources, one of them inline, and all files of the cache it needs."""
    (project / "b.cpp").write_text("int b() { return 41; }\n")

    def make():
        text = f"int b();\n{EXPORT} int oneop_plugin() {{ return b() + 1; }}\n"
        library = build_inline("damaged", text, ldflags=[str(object_of(project))])
        # A copy: the tests write into the file itself, which must not be mapped then.
        copy = shutil.copy(library, project / f"{time.monotonic_ns()}.so")
        return ctypes.CDLL(os.fspath(copy)).oneop_plugin()

    return make


def object_of(project):
    path = project / "b.o"
    if not path.exists():
        os.system(f"g++ -fPIC -c {project}/b.cpp -o {path}")
    return path


def empty(path):
    path.write_bytes(b"")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble(path):
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(
        content[:middle] + bytes(byte ^ 255 for byte in content[middle : middle + 64]) + content[middle + 64 :]
    )


def grow(path):
    path.write_bytes(path.read_bytes() + b"\0junk")


def become_folder(path):
    path.unlink()
    path.mkdir()
    (path / "file").touch()


def become_other_json(path):
    path.write_text(json.dumps({"states": {"a": [1, [2, {}]]}, "files": 3, "value": []}))


def become_list(path):
    path.write_text("[[1, 2, 3]]")


def lose(path):
    path.unlink()


def lose_folder(path):
    shutil.rmtree(path.parent)


def be_file(path):
    shutil.rmtree(path.parent)
    path.parent.write_text("x")


DAMAGES = [empty, cut, garble, grow, become_folder, become_other_json, become_list, lose, lose_folder, be_file]
#: In make test-slow: of files with another content, and of folders that are gone, the others look at the same.
MORE = (empty, cut, grow, become_list, lose_folder)


def in_tiers(damages):
    return [pytest.param(damage, marks=[pytest.mark.slow] * (damage in MORE)) for damage in damages]


@pytest.mark.parametrize("damage", in_tiers(DAMAGES), ids=lambda damage: damage.__name__)
def test_every_file_may_be_damaged(made, own_cache, tmp_path, damage):
    assert made() == 42
    good = tmp_path / "good"
    shutil.copytree(own_cache, good)
    files = [path.relative_to(good) for path in good.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert {path.parts[0] for path in files} == {"library", "object", "source", "manifest", "compiler"}
    # One of them (which one depends on the damage; tests/torture has all pairs), then all at once.
    one = sorted(files)[DAMAGES.index(damage) * 7 % len(files)]
    for damaged in ([one], files):
        for file in damaged:
            if (own_cache / file).is_file():
                damage(own_cache / file)
        assert made() == 42, damaged
        assert made() == 42, damaged


def test_a_manifest_that_lies_about_names_is_not_believed(project, own_cache):
    """Its digest fits, its form does not: counts as absent."""
    (project / "a.cpp").write_text("int x;\n")
    first = build("a", "a.cpp")
    for content in ({"states": [{}]}, {"states": 1}, {"states": [{"read": {"x": 1}, "folders": []}]}, {}):
        for path in (own_cache / "manifest").glob("a-*.json"):
            cache.write_json(path, content)
        assert build("a", "a.cpp").path == first.path
        assert build("a", "a.cpp").cached


@pytest.mark.parametrize("damage", [empty, cut, garble, grow], ids=lambda damage: damage.__name__)
def test_a_damaged_library_is_not_loaded_by_path(made, own_cache, damage):
    made()
    [path] = own_cache.glob("library/*/damaged.so")
    damage(path)
    with pytest.raises(LoadError) as caught:
        load(path)
    assert str(caught.value) == (
        f"cannot load the op library {path}\n"
        "  the file is damaged: its content is not what was built\n"
        "  build it again with oneop.build(name, sources), or install it again"
    )


def test_a_library_cut_short_elsewhere_is_not_loaded(made, own_cache, tmp_path):
    """There is no digest beside it, but its ELF header says how long it is."""
    made()
    [built] = own_cache.glob("library/*/damaged.so")
    for share in (0.01, 0.3, 0.6, 0.9):
        path = tmp_path / "shipped.so"
        path.write_bytes(built.read_bytes()[: int(built.stat().st_size * share)])
        with pytest.raises(LoadError):
            load(path)


MODULE = """
#include <Python.h>
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit__core() { return PyModule_Create(&module); }
"""


@pytest.fixture(scope="module")
def one_core(tmp_path_factory):
    """A folder with the sources and the cache of a small core, and its path. A test leaves it as it was."""
    folder = tmp_path_factory.mktemp("small_core")
    (folder / "csrc").mkdir()
    (folder / "csrc/module.cpp").write_text(MODULE)
    with settings.override(csrc_dir=folder / "csrc", cache_dir=folder / "cache"):
        return folder, core.core_path(progress=False)


@pytest.fixture
def small_core(one_core, monkeypatch):
    folder, path = one_core
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(folder / "csrc"))
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(folder / "cache"))
    return path


@pytest.mark.parametrize("damage", in_tiers(DAMAGES[:8]), ids=lambda damage: damage.__name__)
def test_a_damaged_core_is_built_again(small_core, damage):
    content = small_core.read_bytes()
    damage(small_core)
    assert core.core_path(progress=False) == small_core
    assert small_core.read_bytes() == content
    damage(small_core.parent / "meta.json")
    assert core.core_path(progress=False) == small_core


def test_the_core_needs_only_its_own_folder(one_core, own_cache, monkeypatch, runs):
    folder, path = one_core
    shutil.copytree(folder / "cache/core", own_cache / "core")
    monkeypatch.setenv("ONEOP_CSRC_DIR", str(folder / "csrc"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CXX", "")
        assert core.core_path() == own_cache / path.relative_to(folder / "cache")
    assert runs() == []


def test_a_build_that_finds_a_file_where_a_folder_should_be(project, own_cache):
    (project / "a.cpp").write_text("int x;\n")
    for kind in ("library", "object", "manifest", "lock", "work", "compiler", "trash"):
        own_cache.mkdir(exist_ok=True)
        (own_cache / kind).write_text("not a folder")
    assert build("a", "a.cpp", force=True).path.is_file()
    assert build("a", "a.cpp").cached


def test_the_disk_is_full(project, own_cache, tmp_path, monkeypatch):
    """At each place where something is written in turn: one clear error, and then a build that works."""
    (project / "a.cpp").write_text("int x;\n")
    real, count = cache._sync, 0

    def full(path):
        nonlocal count
        count -= 1
        if count == 0:
            raise OSError(28, "No space left on device", str(path))
        real(path)

    monkeypatch.setattr(cache, "_sync", full)
    failures = 0
    for first in range(1, 14):
        count = first
        try:
            assert build("a", "a.cpp", force=True).path.is_file()
        except BuildError as error:
            failures += 1
            assert str(error).startswith(f"cannot write to the build cache {own_cache}: No space left on device (")
            assert str(error).endswith("\n  make room there, or set ONEOP_CACHE_DIR to another disk")
        count = 0
        assert build("a", "a.cpp").path.is_file()
    assert failures > 5
