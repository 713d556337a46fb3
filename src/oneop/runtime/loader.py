"""Loading op libraries into the registry."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop._build.library import Library, build, build_inline
from oneop.errors import ArgumentError, LoadError, described
from oneop.runtime.core import core, find_op, loaded_libraries, tell_defined
from oneop.runtime.library_file import check_file, copy_file, read_file
from oneop.runtime.modes import untraced

if TYPE_CHECKING:
    from oneop._core import LoadResult, Op

StrPath = str | os.PathLike[str]

#: Functions without a functor that a warning names; it counts the rest.
MOST_NAMED = 10


@dataclass(frozen=True, kw_only=True)
class LoadedLibrary:
    """What a library brought: its ops are attributes, `library.myrelu(x)`."""

    name: str
    path: Path
    ops: tuple[str, ...]  # with their package, if there is one: "mypkg__gelu"
    package: str = ""

    def __getattr__(self, name: str) -> Op:
        """Return the op of this name if it belongs to the library."""
        if name.startswith("__") or name == "ops":  # asked for while it is being copied, and not there yet
            raise AttributeError(name)
        whole = f"{self.package}__{name}" if self.package else name
        if whole not in self.ops:
            raise AttributeError(f'library "{self.name}" has no op "{name}"; it has: {", ".join(self._short_names())}')
        return find_op(whole)

    def _short_names(self) -> list[str]:
        return [name.removeprefix(f"{self.package}__") if self.package else name for name in self.ops]

    def __dir__(self) -> list[str]:
        """List the ops too."""
        return [*super().__dir__(), *self._short_names()]


#: The content of each file as the dynamic linker knows it: path -> hash.
_opened: dict[Path, str] = {}
#: One library at a time. Re-entrant, since hooks of what is loaded may load more.
_lock = threading.RLock()


@untraced
def load(
    library: Library | StrPath,
    sources: Sequence[StrPath] | StrPath | None = None,
    *,
    package: str = "",
    signed_by: str | bytes | None = None,
    **options: Any,
) -> LoadedLibrary:
    """Load an op library and return what it brought.

    `library` is what `oneop.build` returned or the path of a shared object. With `sources` it is a name, and the
    library is built first: `load("mylib", ["mylib.cpp"])`; `options` are those of `oneop.build`.

    With `package`, its ops are `oneop.ops.<package>.<name>` and do not collide with those of other packages. With
    `signed_by`, an ed25519 public key, the file must be signed by its owner: see `oneop._build.signature`.

    Loading the same library again does nothing; a rebuilt one replaces its ops, kernels and gradients. Raises
    `LoadError`, `SignatureError`, `AbiError`, `DuplicateOpError` or `RegistrationError`, and registers nothing then.
    """
    _check_package(package)
    if sources is not None:
        if not isinstance(library, (str, os.PathLike)):
            raise ArgumentError(f"load: with sources the name of a library is expected, found {described(library)}")
        library = build(os.fspath(library), sources, **options)
    elif options:
        raise TypeError(f"load() takes {', '.join(options)} only together with sources")
    if isinstance(library, Library):
        return _load_file(library.path, f"{package}/{library.name}" if package else library.name, package, signed_by)
    if not isinstance(library, (str, os.PathLike)):
        raise ArgumentError(f"load: expected a path or what oneop.build returns, found {described(library)}")
    path = Path(library).resolve()
    if not path.is_file():
        raise LoadError(
            f"cannot load the op library {path}\n  there is no such file\n  build it with oneop.build(name, sources)"
        )
    return _load_file(path, str(path), package, signed_by)


@untraced
def load_inline(name: str, cpp_sources: str | Sequence[str] = (), **options: Any) -> LoadedLibrary:
    """Build and load a library from source texts; `options` are those of `oneop.build`, and `cuda_sources`."""
    return load(build_inline(name, cpp_sources, **options))


def _check_package(package: str) -> None:
    if not isinstance(package, str) or (package and (not package.isidentifier() or "__" in package)):
        raise ArgumentError(
            f"load: package is an identifier without two underscores in a row, as my_ops; found {package!r}"
        )


def _check_versions(path: Path, library: str, package: str) -> None:
    """Raise `LoadError` if another file of this package is loaded: a process has one version of a package."""
    for known, (_, loaded) in loaded_libraries.items():
        if package and loaded.package == package and loaded.path.name == path.name and known != library:
            raise LoadError(
                f'package "{package}" is loaded already, from another file\n'
                f"  loaded: {loaded.path}\n"
                f"  asked for: {path}\n"
                f"  a process has one version of a package; install one of them only, or load one under another name"
            )


def _load_file(path: Path, library: str, package: str, signed_by: str | bytes | None) -> LoadedLibrary:
    with _lock:
        content = read_file(path)
        if signed_by is not None:
            from oneop._build.signature import check_signature

            check_signature(path, content, signed_by)
        digest = check_file(path, content)
        for known, loaded in loaded_libraries.values():
            if known == digest and loaded.package == package:
                return loaded  # type: ignore[no-any-return]
        _check_versions(path, library, package)
        opened = path
        if signed_by is not None or _opened.get(path, digest) != digest:
            # The dynamic linker would hand out the old content again for a path it knows. And what is signed are the
            # bytes that were read, not those that the file may have by now.
            opened = copy_file(path, digest, content)
        else:
            _opened[path] = digest
        result: LoadResult = core().load_library(str(opened), library, package)
        for name in result["ops"]:
            find_op(name)  # torch.compile can look them up, not make them
        loaded = LoadedLibrary(name=Path(library).stem, path=path, ops=tuple(result["ops"]), package=package)
        loaded_libraries[library] = (digest, loaded)  # before the hooks, which compare what is loaded
        tell_defined(result["ops"])
    _tell_missing(loaded, result["missing"])
    return loaded


def _tell_missing(library: LoadedLibrary, missing: list[tuple[str, str, str]]) -> None:
    """Warn, once for all of them, about functions without a functor: their calls are refused, the others work."""
    if not missing:
        return
    lines = [f'\n  {place}: {name}: no functor "{functor}"' for place, name, functor in missing[:MOST_NAMED]]
    rest = f"\n  and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    text = f"library {library.name}: functions that have no functor, and cannot be called: {len(missing)}"
    warnings.warn(f"{text}{''.join(lines)}{rest}", stacklevel=4)
