"""Whose code runs: a cache that others can write to is refused, a file of others in it is not used."""

import ctypes
import os
import stat
import tempfile
from pathlib import Path

import pytest

from oneop._build import cache
from oneop._build.library import build
from oneop._build.trust import why_not_trusted
from oneop.errors import BuildError

EXPORT = 'extern "C" __attribute__((visibility("default")))'
NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def source(project, own_cache, monkeypatch):
    (project / "a.cpp").write_text(f"{EXPORT} int oneop_plugin() {{ return 7; }}\n")
    monkeypatch.setattr(cache, "_checked", set())
    own_cache.mkdir()
    return project / "a.cpp"


def answer():
    return ctypes.CDLL(os.fspath(build("a", "a.cpp"))).oneop_plugin()


def refusal(own_cache, why):
    return (
        f"the build cache {own_cache} cannot be used: {why}\n"
        "  code in it would run with your rights\n"
        f"  chmod go-w {own_cache} if it is yours, else set ONEOP_CACHE_DIR to a folder of yours"
    )


def test_a_root_that_every_user_may_write_to(source, own_cache):
    own_cache.chmod(0o777)
    with pytest.raises(BuildError) as caught:
        build("a", "a.cpp")
    assert str(caught.value) == refusal(own_cache, "every user may write to it (mode 777)")
    own_cache.chmod(0o755)
    assert answer() == 7


@as_root
def test_a_root_that_a_group_may_write_to(source, own_cache):
    own_cache.chmod(0o775)
    os.chown(own_cache, 0, 100)
    with pytest.raises(BuildError, match=r"group \w+ may write to it \(mode 775\)"):
        build("a", "a.cpp")


@as_root
def test_a_root_of_another_user(source, own_cache):
    os.chown(own_cache, NOBODY, NOBODY)
    with pytest.raises(BuildError) as caught:
        build("a", "a.cpp")
    assert str(caught.value).splitlines()[0].endswith("it belongs to nobody, not to root")


@as_root
def test_files_of_others_are_not_used(source, own_cache):
    assert answer() == 7
    [library] = own_cache.glob("library/*/a.so")
    evil = library.read_bytes()
    for path in (library, library.parent):
        os.chown(path, NOBODY, NOBODY)
        assert why_not_trusted(path)
        assert not build("a", "a.cpp").cached
        assert library.stat().st_uid == library.parent.stat().st_uid == 0
    assert library.read_bytes() == evil  # the same source, compiled again


def test_files_that_others_may_write_to_are_not_used(source, own_cache):
    assert answer() == 7
    [library] = own_cache.glob("library/*/a.so")
    library.chmod(0o777)
    assert not build("a", "a.cpp").cached
    [made] = own_cache.glob("object/*/unit.o")
    made.chmod(0o666)
    [library] = own_cache.glob("library/*/a.so")
    library.unlink()
    assert not build("a", "a.cpp").cached
    assert not stat.S_IMODE(made.stat().st_mode) & 0o022


def test_nothing_is_made_that_others_may_write_to(source, own_cache):
    old = os.umask(0)
    try:
        own_cache.rmdir()
        assert answer() == 7
    finally:
        os.umask(old)
    open_to_all = [
        path for kind in ("library", "object") for path in (own_cache / kind).rglob("*") if path.stat().st_mode & 0o022
    ]
    assert open_to_all == []
    assert not own_cache.stat().st_mode & 0o022


@as_root
def test_a_shared_cache_is_read_and_never_written(source, own_cache, start, project):
    """Root made it, another user runs it: what is built is found, what is not gets one clear error."""
    assert answer() == 7
    project.chmod(0o777)
    for path in own_cache.parents:  # with several workers pytest's own folders are a level deeper
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(path.stat().st_mode | 0o055)
    code = """
import os, sys
sys.stdout.flush()
from oneop._build.library import build
from oneop.errors import BuildError
import oneop._build.make, filelock
os.setgid(65534); os.setuid(65534)
print(build("a", "a.cpp").cached)
open("b.cpp", "w").write("int x;")
try:
    build("b", "b.cpp")
except BuildError as error:
    print(error)
"""
    out, err = start(code, is_limited=True).communicate(timeout=300)
    assert err == ""
    first, *rest = out.splitlines()
    assert first == "True"
    assert rest[0].startswith(
        ('library "b": cannot lock the build cache: Permission denied (', "cannot write to the build cache")
    )
    assert rest[1] == "  set ONEOP_CACHE_DIR to a folder of yours"
