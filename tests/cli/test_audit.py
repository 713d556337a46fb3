"""`oneop audit`: on a library that is as it should be, on one that is not, and on what is none."""

import json
import re
import subprocess

import pytest

from oneop._build.library import build

SOURCE = '#include "oneflow/core/framework/framework.h"\n'


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def library(tmp_path, monkeypatch, cache):
    """A library with no ops, built here by these commands. All but the first take objects of the SDK from the cache."""
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(cache))
    monkeypatch.delenv("CXX", raising=False)  # the commands begin with g++
    (tmp_path / "empty.cpp").write_text(SOURCE)
    return build("empty", [tmp_path / "empty.cpp"]).path


def test_a_good_library(oneop, library):
    status, out, _ = oneop("audit", library, "--json", "--rebuild", "--handshake")
    facts = json.loads(out)
    assert status == 0 and facts["problems"] == []
    assert facts["exports"] == ["oneop_plugin"] and facts["imports beside the C and C++ runtime"] == []
    assert facts["sdk"].startswith("oneop 0.") and facts["abi"].startswith("1.") and facts["sdk"] in facts["abi"]
    assert facts["rebuilds to"] == "the same bytes"
    assert any("empty.cpp" in line for line in facts["commands"]) and facts["compilers"]


def test_the_text(oneop, library):
    status, out, _ = oneop("audit", library)
    lines = out.splitlines()
    assert status == 0 and lines[-2:] == ["problems", "  none"] and "built by" in lines
    assert any(line.split() == ["exports", "oneop_plugin"] for line in lines)


def test_a_changed_source_does_not_rebuild_to_the_same_bytes(oneop, library, tmp_path):
    at_load = "volatile int used = 3;\n__attribute__((constructor)) void change() { used = 4; }\n"
    (tmp_path / "empty.cpp").write_text(SOURCE + at_load)
    status, out, _ = oneop("audit", library, "--rebuild")
    assert status == 1 and "  it does not rebuild to the same bytes: " in out
    (tmp_path / "empty.cpp").unlink()
    status, out, _ = oneop("audit", library, "--rebuild", "--json")
    assert status == 0 and re.match(r"unknown: \S*g\+\+ ", json.loads(out)["rebuilds to"])


def test_a_record_that_lacks_a_command(oneop, library):
    record = library.parent / "command.txt"
    folder, _, *others = record.read_text().splitlines(keepends=True)
    record.write_text("".join([folder, *others]))
    status, out, _ = oneop("audit", library, "--rebuild", "--json")
    assert status == 0 and json.loads(out)["rebuilds to"] == (
        "unknown: its record does not name the command of each object; build it again and repeat"
    )


def test_problems(oneop, tmp_path, monkeypatch):
    monkeypatch.setenv("ONEOP_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.cpp").write_text('extern "C" int stranger(); extern "C" int mine() { return stranger(); }\n')
    flags = ["-Wl,-rpath,/a", "-Wl,--enable-new-dtags", "-Wl,-z,norelro", "-Wl,-z,execstack"]
    made = ["g++", "-shared", "-fPIC", "a.cpp", "-o", "a.so", *flags]
    subprocess.run(made, cwd=tmp_path, check=True, capture_output=True)
    status, out, _ = oneop("audit", tmp_path / "a.so", "--json", "--rebuild")
    facts = json.loads(out)
    assert status == 1 and facts["imports beside the C and C++ runtime"] == ["stranger"]
    assert facts["commands"] is None
    assert facts["rebuilds to"] == "unknown: the build cache of this user does not remember how it was built"
    assert facts["problems"] == [
        "its stack is executable",
        "RUNPATH /a: libraries are searched there",
        "its tables of addresses stay writable (no RELRO)",
        "it is no op library: it does not export oneop_plugin",
    ]


def test_a_library_that_crashes_when_it_is_asked(oneop, tmp_path):
    (tmp_path / "a.cpp").write_text(
        '#include <cstdlib>\nextern "C" int oneop_plugin(void*) { abort(); }\nextern "C" int second() { return 1; }\n'
    )
    subprocess.run(["g++", "-shared", "-fPIC", "a.cpp", "-o", "a.so"], cwd=tmp_path, check=True)
    status, out, _ = oneop("audit", tmp_path / "a.so", "--handshake", "--json")
    facts = json.loads(out)
    assert status == 1 and facts["abi"] == "unknown: the process ended with status -6"
    assert facts["problems"] == ["it exports 2 symbols; an op library exports oneop_plugin alone"]


def test_what_is_no_library(oneop, tmp_path):
    status, out, err = oneop("audit", tmp_path / "none.so")
    assert status == 2 and out == ""
    assert err == f"oneop audit: there is no file {tmp_path / 'none.so'}\n"
    (tmp_path / "folder.so").mkdir()
    status, out, err = oneop("audit", tmp_path / "folder.so")
    assert status == 1 and out == ""
    assert err == f"oneop audit: cannot read {tmp_path / 'folder.so'}\n  Is a directory\n"
    (tmp_path / "text.so").write_text("hello")
    _, _, err = oneop("audit", tmp_path / "text.so")
    assert err == f"oneop audit: {tmp_path / 'text.so'} is not a shared object: it does not begin as an ELF file\n"
