"""The file of an op library: read, checked, copied. For every host: nothing here needs torch."""

from __future__ import annotations

import hashlib
import os
import struct
import threading
from pathlib import Path

from oneop._build.cache import cache_root, cannot_write, make_dir, read_json
from oneop._build.sources import sha_of
from oneop.errors import LoadError


def read_file(path: Path) -> bytes:
    """Return the content of a library. Raises `LoadError`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise LoadError(f"cannot load the op library {path}\n  {error.strerror}") from None


def check_file(path: Path, content: bytes) -> str:
    """Return the digest of a library's content. Raises `LoadError` if it is damaged: dlopen would crash the process."""
    digest = hashlib.sha256(content).hexdigest()[:20]
    files = read_json(path.parent / "meta.json").get("files")  # of an entry of the cache
    made = files.get(path.name, digest) if isinstance(files, dict) else digest
    if made != digest or _is_cut_short(content):
        raise LoadError(
            f"cannot load the op library {path}\n"
            f"  the file is damaged: its content is not what was built\n"
            f"  build it again with oneop.build(name, sources), or install it again"
        )
    return digest


def _is_cut_short(content: bytes) -> bool:
    """Tell whether an ELF file has less content than its header says. Mapping the rest would end in SIGBUS."""
    if content[:6] != b"\x7fELF\x02\x01" or len(content) < 64:
        return content[:4] == b"\x7fELF" and len(content) < 64
    offset, sections, _, _, entry_size, count, section_size, section_count = struct.unpack_from(
        "<QQIHHHHH", content, 32
    )
    if offset + entry_size * count > len(content) or sections + section_size * section_count > len(content):
        return True
    if entry_size < 40:
        return True
    for i in range(count):
        start, _, _, size = struct.unpack_from("<QQQQ", content, offset + i * entry_size + 8)
        if start + size > len(content):
            return True
    return False


def copy_file(path: Path, digest: str, content: bytes, mark: str = "") -> Path:
    """Return a copy of the library under a name that the dynamic linker has not seen; `mark` is part of that name."""
    copy = cache_root() / "loaded" / f"{path.stem[:100]}-{digest}{mark}.so"
    if sha_of(copy) != digest:
        try:
            temporary = make_dir(copy.parent) / f"{os.getpid()}-{threading.get_ident()}.tmp"
            temporary.write_bytes(content)
            temporary.replace(copy)
        except OSError as error:
            raise LoadError(f"cannot load the op library {path} again\n  {cannot_write(error)}") from None
    return copy
