"""Files that are no shared objects, or damaged ones, each with its text."""

import struct

import pytest

from oneop._build.elf import _Reader
from oneop._build.elf import read_elf as read_elf
from oneop.errors import AuditError


def elf(kind=3, segments=(), tail=b""):
    """The bytes of an ELF file with these segments: (kind, offset, address, size)."""
    head = struct.pack(
        "<4sBB10xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, kind, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0
    )
    table = [struct.pack("<IIQQQQQQ", kind, 4, at, start, start, size, size, 8) for kind, at, start, size in segments]
    return head + b"".join(table) + tail


LOAD, DYNAMIC, NEEDED, STRTAB, STRSZ = 1, 2, 1, 5, 10
AFTER_TWO = 64 + 2 * 56
#: A dynamic section that needs the library whose name is at 99, in a table of `size` bytes at `address`.
ENTRIES = {
    (size, address): struct.pack("<6Q2q", NEEDED, 99, STRTAB, address, STRSZ, size, 0, 0)
    for size, address in ((10, 0), (200, 1 << 40))
}


@pytest.mark.parametrize(
    "content, text",
    [
        (b"#!/bin/sh\n", "is not a shared object: it does not begin as an ELF file"),
        (b"\x7fELF\x01\x01", "is an ELF file of another kind: expected 64 bits, little-endian"),
        (b"\x7fELF\x02\x01", "is damaged: its tables do not fit the file\n  "),
        (elf(kind=1), "it is no shared object, but an object file, a program or a core dump"),
        (elf(), "it has no dynamic section"),
    ],
)
def test_files(tmp_path, content, text):
    path = tmp_path / "lib.so"
    path.write_bytes(content)
    with pytest.raises(AuditError) as raised:
        read_elf(path)
    assert str(raised.value).startswith(f"{path} is ") and text in str(raised.value)


@pytest.mark.parametrize(
    "entries, text",
    [
        (ENTRIES[10, 0], "a name is outside of the table of names"),
        (ENTRIES[200, 1 << 40], "address 0x10000000000 is in no segment"),
    ],
)
def test_tables(entries, text):
    reader = _Reader(elf(segments=[(LOAD, 0, 0, 4096), (DYNAMIC, AFTER_TWO, 0, 64)], tail=entries))
    with pytest.raises(ValueError, match=text):
        reader._texts(NEEDED)
