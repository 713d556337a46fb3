"""What is read from the bytes of a shared object, against what binutils read; and files that are none."""

import re
import shutil
import struct
import subprocess

import pytest

from oneop._build.elf import read_elf
from oneop._build.library import build
from oneop.errors import AuditError

EXPORT = 'extern "C" __attribute__((visibility("default")))'


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elf")
    (folder / "a.cpp").write_text(
        f"#include <cmath>\n#include <string>\n{EXPORT} int oneop_plugin(double x, char* y) "
        "{ return std::cos(x) > 0 ? std::stoi(std::string(y)) : 7; }\n"
    )
    subprocess.run(["g++", "-shared", "-fPIC", "-O0", "a.cpp", "-o", "a.so"], cwd=folder, check=True)
    return folder / "a.so"


def link(library, *flags):
    made = library.with_name(f"{len(list(library.parent.iterdir()))}.so")
    command = ["g++", "-shared", "-fPIC", "a.cpp", *flags, "-o", made]
    subprocess.run(command, cwd=library.parent, check=True, capture_output=True)
    return read_elf(made)


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf, from binutils")
def test_as_binutils_read_it(library):
    elf = read_elf(library)
    said = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    assert list(elf.needed) == re.findall(r"\(NEEDED\).*\[(.*)\]", said)
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout.splitlines()
    undefined = [line.split()[-1] for line in symbols if line.split()[-2] in "Uw"]
    assert list(elf.imports) == sorted(re.sub("@+", "@", name) for name in undefined)
    assert list(elf.exports) == sorted(line.split()[-1] for line in symbols if line.split()[-2] not in "Uw")
    assert set(elf.versions) == {name.partition("@")[2] for name in elf.imports if "@" in name}
    note = subprocess.run(["readelf", "-nW", library], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {elf.build_id}" in note and elf.compilers[0].startswith("GCC: ")
    assert elf.is_read_only_after_relocation and not elf.has_executable_stack and elf.writable_code == ()


def test_what_linkers_are_told(library):
    elf = link(library, "-Wl,-rpath,/a:/b", "-Wl,--enable-new-dtags", "-Wl,-soname,me.so", "-Wl,-z,now")
    assert elf.runpath == ("/a:/b",) and elf.rpath == () and elf.soname == "me.so" and elf.binds_at_load
    elf = link(library, "-Wl,-rpath,/a", "-Wl,--disable-new-dtags", "-Wl,-z,norelro", "-Wl,-z,execstack")
    assert elf.rpath == ("/a",) and not elf.is_read_only_after_relocation and elf.has_executable_stack
    assert link(library, "-Wl,--hash-style=sysv").exports == link(library, "-Wl,--hash-style=gnu").exports


def test_segments_that_are_written_and_run(library, tmp_path):
    content = bytearray(library.read_bytes())
    start, size = struct.unpack_from("<Q", content, 32)[0], struct.unpack_from("<H", content, 54)[0]
    first = next(i for i in range(9) if struct.unpack_from("<II", content, start + i * size) == (1, 5))
    struct.pack_into("<I", content, start + first * size + 4, 7)
    (tmp_path / "w.so").write_bytes(content)
    assert read_elf(tmp_path / "w.so").writable_code == (f"segment {first}",)


def test_an_op_library_is_read(project):
    (project / "b.cpp").write_text(f"{EXPORT} int oneop_plugin() {{ return 7; }}\n")
    assert read_elf(build("b", "b.cpp").path).exports == ("oneop_plugin",)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot read {0}\n  No such file or directory"),
        (b"", "{0} is not a shared object: it does not begin as an ELF file"),
        (b"#!/bin/sh\n", "{0} is not a shared object: it does not begin as an ELF file"),
        (b"\x7fELF\x01\x01" + b"\0" * 99, "{0} is an ELF file of another kind: expected 64 bits, little-endian"),
        (b"\x7fELF\x02\x01" + b"\0" * 99, "{0} is damaged: its tables do not fit the file\n  it is no shared object, "),
        (b"\x7fELF\x02\x01", "{0} is damaged: its tables do not fit the file\n  unpack_from requires"),
    ],
)
def test_what_is_no_shared_object(tmp_path, content, text):
    path = tmp_path / "x.so"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AuditError) as caught:
        read_elf(path)
    assert str(caught.value).startswith(text.format(path))


def test_a_folder_is_none(tmp_path):
    with pytest.raises(AuditError) as caught:
        read_elf(tmp_path)
    assert str(caught.value) == f"cannot read {tmp_path}\n  Is a directory"


def test_no_damage_ends_otherwise(library, tmp_path):
    content = library.read_bytes()
    path = tmp_path / "cut.so"
    for length in range(64, len(content), max(len(content) // 60, 1)):
        path.write_bytes(content[:length])
        try:
            read_elf(path)
        except AuditError:
            continue
    for at in range(16, 1200, 7):
        path.write_bytes(content[:at] + b"\xff\xff\xff" + content[at + 3 :])
        try:
            read_elf(path)
        except AuditError:
            continue
