"""What a shared object says of itself, read from its bytes: nothing is loaded, no program is run.

Only what the dynamic linker sees is read: segments and the dynamic section, so a file without sections is read as well.
The one exception is `.comment`, in which compilers leave their names. 64-bit little-endian ELF is what oneop runs on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oneop.errors import AuditError

_LOAD, _DYNAMIC, _NOTE, _STACK, _RELRO = 1, 2, 4, 0x6474E551, 0x6474E552
_EXECUTE, _WRITE = 1, 2
_NEEDED, _STRTAB, _SYMTAB, _STRSZ, _SONAME, _RPATH, _TEXTREL, _BIND_NOW, _RUNPATH, _FLAGS = (
    *(1, 5, 6, 10, 14, 15, 22, 24, 29, 30),
)
_FLAGS_1, _VERNEED, _VERNEEDNUM, _VERSYM, _GNU_HASH, _HASH = (
    *(0x6FFFFFFB, 0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFFF0, 0x6FFFFEF5, 4),
)
_MACHINES = {62: "x86_64", 183: "aarch64"}


@dataclass(frozen=True, kw_only=True)
class Elf:
    """A shared object as the dynamic linker sees it."""

    machine: str
    soname: str
    needed: tuple[str, ...]
    imports: tuple[str, ...]  # undefined symbols, with their version: "memcpy@GLIBC_2.14"
    exports: tuple[str, ...]
    versions: tuple[str, ...]  # of the symbols that it needs: "GLIBC_2.14"
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]
    writable_code: tuple[str, ...]  # segments that are written to and executed
    has_executable_stack: bool
    has_text_relocations: bool
    is_read_only_after_relocation: bool
    binds_at_load: bool
    compilers: tuple[str, ...]
    build_id: str


def read_elf(path: str | Path) -> Elf:
    """Return what the shared object says of itself. Raises `AuditError` if it is none, or cut short."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise AuditError(f"cannot read {path}\n  {error.strerror}") from None
    if content[:4] != b"\x7fELF":
        raise AuditError(f"{path} is not a shared object: it does not begin as an ELF file")
    if content[4:6] != b"\x02\x01":
        raise AuditError(f"{path} is an ELF file of another kind: expected 64 bits, little-endian")
    try:
        return _Reader(content).read()
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise AuditError(f"{path} is damaged: its tables do not fit the file\n  {error}") from None


class _Reader:
    """The tables of one file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        kind, machine = struct.unpack_from("<HH", content, 16)
        if kind != 3:
            raise ValueError("it is no shared object, but an object file, a program or a core dump")
        self._machine = _MACHINES.get(machine, f"machine {machine}")
        start, sections = struct.unpack_from("<QQ", content, 32)
        size, count, section_size, section_count, names = struct.unpack_from("<HHHHH", content, 54)
        self._segments = [struct.unpack_from("<IIQQQQQQ", content, start + i * size) for i in range(count)]
        self._sections = (sections, section_size, section_count, names)
        self._dynamic: dict[int, list[int]] = {}
        for tag, value in self._dynamic_entries():
            self._dynamic.setdefault(tag, []).append(value)
        if not self._dynamic:
            raise ValueError("it has no dynamic section")

    def read(self) -> Elf:
        flags = {kind: flags for kind, flags, *_ in self._segments}
        versions = self._needed_versions()
        imports, exports = self._symbols(versions)
        return Elf(
            machine=self._machine,
            soname=next(iter(self._texts(_SONAME)), ""),
            needed=self._texts(_NEEDED),
            imports=imports,
            exports=exports,
            versions=tuple(sorted(set(versions.values()))),
            rpath=self._texts(_RPATH),
            runpath=self._texts(_RUNPATH),
            writable_code=tuple(
                f"segment {i}"
                for i, segment in enumerate(self._segments)
                if segment[0] == _LOAD and segment[1] & _WRITE and segment[1] & _EXECUTE
            ),
            has_executable_stack=bool(flags.get(_STACK, _EXECUTE) & _EXECUTE),  # without a word on it, it is one
            has_text_relocations=_TEXTREL in self._dynamic or bool(self._first(_FLAGS) & 4),
            is_read_only_after_relocation=_RELRO in flags,
            binds_at_load=_BIND_NOW in self._dynamic or bool(self._first(_FLAGS) & 8 or self._first(_FLAGS_1) & 1),
            compilers=self._compilers(),
            build_id=self._build_id(),
        )

    def _dynamic_entries(self) -> Iterator[tuple[int, int]]:
        for kind, _, offset, _, _, size, *_ in self._segments:
            for at in range(offset, offset + size, 16) if kind == _DYNAMIC else ():
                tag, value = struct.unpack_from("<qQ", self._content, at)
                if tag == 0:
                    return
                yield tag, value

    def _first(self, tag: int) -> int:
        return self._dynamic.get(tag, [0])[0]

    def _at(self, address: int) -> int:
        """Return where in the file a virtual address is."""
        for kind, _, offset, start, _, size, *_ in self._segments:
            if kind == _LOAD and start <= address < start + size:
                return int(offset + address - start)
        raise ValueError(f"address {address:#x} is in no segment")

    def _text(self, offset: int) -> str:
        if offset >= self._first(_STRSZ):
            raise ValueError("a name is outside of the table of names")
        start = self._at(self._first(_STRTAB)) + offset
        return self._content[start : self._content.index(b"\0", start)].decode("utf-8", "backslashreplace")

    def _texts(self, tag: int) -> tuple[str, ...]:
        return tuple(self._text(value) for value in self._dynamic.get(tag, ()))

    def _needed_versions(self) -> dict[int, str]:
        """Return the versions of symbols that other libraries must have, by their numbers in the table of symbols."""
        versions: dict[int, str] = {}
        if _VERNEED not in self._dynamic:
            return versions
        at = self._at(self._first(_VERNEED))
        for _ in range(self._first(_VERNEEDNUM)):
            _, count, _, aux, following = struct.unpack_from("<HHIII", self._content, at)
            entry = at + aux
            for _ in range(count):
                _, _, number, name, step = struct.unpack_from("<IHHII", self._content, entry)
                versions[number & 0x7FFF] = self._text(name)
                entry += step
            at += following
        return versions

    def _symbols(self, versions: dict[int, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        imports, exports = [], []
        table = self._at(self._first(_SYMTAB))
        numbers = self._at(self._first(_VERSYM)) if _VERSYM in self._dynamic else None
        for i in range(1, self._symbol_count()):
            name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", self._content, table + 24 * i)
            text = self._text(name)
            if info >> 4 == 0 or not text:  # local to the file
                continue
            number = 0 if numbers is None else struct.unpack_from("<H", self._content, numbers + 2 * i)[0] & 0x7FFF
            if section == 0:
                imports.append(f"{text}@{versions[number]}" if number in versions else text)
            else:
                exports.append(text)
        return tuple(sorted(imports)), tuple(sorted(exports))

    def _symbol_count(self) -> int:
        if _HASH in self._dynamic:
            return int(struct.unpack_from("<II", self._content, self._at(self._first(_HASH)))[1])
        at = self._at(self._first(_GNU_HASH))
        buckets, first, bloom, _ = struct.unpack_from("<IIII", self._content, at)
        start = at + 16 + 8 * bloom
        last = max(struct.unpack_from(f"<{buckets}I", self._content, start), default=0)
        if last < first:
            return int(first)
        chain = start + 4 * buckets
        while not struct.unpack_from("<I", self._content, chain + 4 * (last - first))[0] & 1:
            last += 1
        return int(last) + 1

    def _compilers(self) -> tuple[str, ...]:
        start, size, count, names = self._sections
        headers = (
            [struct.unpack_from("<IIQQQQ", self._content, start + i * size) for i in range(count)] if start else []
        )
        for name, _, _, _, offset, length in headers:
            label = headers[names][4] + name
            if self._content[label : label + 9] == b".comment\0":
                parts = self._content[offset : offset + length].split(b"\0")
                return tuple(dict.fromkeys(part.decode("utf-8", "backslashreplace") for part in parts if part))
        return ()

    def _build_id(self) -> str:
        for kind, _, offset, _, _, size, *_ in self._segments:
            note = self._content[offset : offset + size] if kind == _NOTE else b""
            if len(note) >= 16 and note[8:16] == b"\x03\0\0\0GNU\0":
                return note[16 : 16 + struct.unpack_from("<I", note, 4)[0]].hex()
        return ""
