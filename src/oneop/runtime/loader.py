"""Loading op libraries into the registry."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop._build.cache import cache_root, cannot_write, make_dir, read_json
from oneop._build.library import Library, build, build_inline
from oneop._build.sources import sha_of
from oneop.errors import ArgumentError, LoadError, described
from oneop.runtime.core import core, find_op, forget_ops, loaded_libraries, tell_defined
from oneop.runtime.modes import untraced

if TYPE_CHECKING:
    from oneop._core import LoadResult, Op

StrPath = str | os.PathLike[str]


@dataclass(frozen=True, kw_only=True)
class LoadedLibrary:
    """What a library brought: its ops are attributes, `library.myrelu(x)`."""

    name: str
    path: Path
    ops: tuple[str, ...]

    def __getattr__(self, name: str) -> Op:
        """Return the op of this name if it belongs to the library."""
        if name.startswith("__") or name == "ops":  # asked for while it is being copied, and not there yet
            raise AttributeError(name)
        if name not in self.ops:
            raise AttributeError(f'library "{self.name}" has no op "{name}"; it has: {", ".join(self.ops)}')
        return find_op(name)

    def __dir__(self) -> list[str]:
        """List the ops too."""
        return [*super().__dir__(), *self.ops]


#: The content of each file as the dynamic linker knows it: path -> hash.
_opened: dict[Path, str] = {}
#: One library at a time. Re-entrant, since hooks of what is loaded may load more.
_lock = threading.RLock()


@untraced
def load(
    library: Library | StrPath, sources: Sequence[StrPath] | StrPath | None = None, **options: Any
) -> LoadedLibrary:
    """Load an op library and return what it brought.

    `library` is what `oneop.build` returned or the path of a shared object. With `sources` it is a name, and the
    library is built first: `load("mylib", ["mylib.cpp"])`; `options` are those of `oneop.build`.

    Loading the same library again does nothing; a rebuilt one replaces its ops, kernels and gradients. Raises
    `LoadError`, `AbiError`, `DuplicateOpError` or `RegistrationError`, and registers nothing then.
    """
    if sources is not None:
        if not isinstance(library, (str, os.PathLike)):
            raise ArgumentError(f"load: with sources the name of a library is expected, found {described(library)}")
        library = build(os.fspath(library), sources, **options)
    elif options:
        raise TypeError(f"load() takes {', '.join(options)} only together with sources")
    if isinstance(library, Library):
        return _load_file(library.path, library.name)
    if not isinstance(library, (str, os.PathLike)):
        raise ArgumentError(f"load: expected a path or what oneop.build returns, found {described(library)}")
    path = Path(library).resolve()
    if not path.is_file():
        raise LoadError(
            f"cannot load the op library {path}\n  there is no such file\n  build it with oneop.build(name, sources)"
        )
    return _load_file(path, str(path))


@untraced
def load_inline(name: str, cpp_sources: str | Sequence[str] = (), **options: Any) -> LoadedLibrary:
    """Build and load a library from source texts; `options` are those of `oneop.build`, and `cuda_sources`."""
    return load(build_inline(name, cpp_sources, **options))


def _load_file(path: Path, library: str) -> LoadedLibrary:
    with _lock:
        digest = _check_file(path)
        for known, loaded in loaded_libraries.values():
            if known == digest:
                return loaded  # type: ignore[no-any-return]
        opened = path
        if _opened.get(path, digest) != digest:
            # The dynamic linker would hand out the old content again for a path it knows.
            opened = _copy(path, digest)
        else:
            _opened[path] = digest
        result: LoadResult = core().load_library(str(opened), library)
        forget_ops(result["changed"])
        for name in result["ops"]:
            find_op(name)  # torch.compile can look them up, not make them
        loaded = LoadedLibrary(name=Path(library).stem, path=path, ops=tuple(result["ops"]))
        loaded_libraries[library] = (digest, loaded)  # before the hooks, which compare what is loaded
        tell_defined(result["ops"])
        return loaded


def _check_file(path: Path) -> str:
    """Return the digest of a library's content. Raises `LoadError` if it is damaged: dlopen would crash the process."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LoadError(f"cannot load the op library {path}\n  {error.strerror}") from None
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


def _copy(path: Path, digest: str) -> Path:
    """Return a copy of the library under a name that the dynamic linker has not seen."""
    copy = cache_root() / "loaded" / f"{path.stem[:100]}-{digest}.so"
    if sha_of(copy) != digest:
        try:
            temporary = make_dir(copy.parent) / f"{os.getpid()}-{threading.get_ident()}.tmp"
            shutil.copyfile(path, temporary)
            temporary.replace(copy)
        except OSError as error:
            raise LoadError(f"cannot load the op library {path} again\n  {cannot_write(error)}") from None
    return copy
