"""Sources that are not the user's files: texts given inline, and C++ made from op definitions.

Both are written into the cache once, named by what they are made from, and then built like any other source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oneop._build import cache
from oneop._build.lock import build_lock
from oneop._version import __version__
from oneop.errors import BuildError


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Sources in the cache, and the folders their headers are in."""

    sources: tuple[Path, ...] = ()
    include_dirs: tuple[Path, ...] = ()


def keep_texts(name: str, texts: Mapping[str, str]) -> list[Path]:
    """Return files of the cache that hold `texts`, which is {file name: text}."""

    def write(folder: Path) -> None:
        for file_name, text in texts.items():
            (folder / file_name).write_text(text)

    folder = _keep(name, {"texts": dict(texts)}, write) if texts else Path()
    return [folder / file_name for file_name in texts]


def generate(name: str, ods: Sequence[Path], functional: Sequence[Path]) -> Generated:
    """Return the C++ that op definitions and functional descriptions stand for. Raises `BuildError`, see below."""
    if not ods and not functional:
        return Generated()
    files = [*ods, *functional]
    for file in files:
        if not file.is_file():
            raise BuildError(f'library "{name}": {file} is not there')
    inputs = {"generator": __version__, "contents": {str(file): file.read_text() for file in files}}
    folder = _keep(name, inputs, lambda folder: generate_sources(ods, functional, folder))
    return Generated(sources=tuple(sorted(folder.glob("*.cpp"))), include_dirs=(folder,))


def generate_sources(ods: Sequence[Path], functional: Sequence[Path], out_dir: Path) -> None:
    """Write the C++ sources and headers that `ods` and `functional` describe into `out_dir`.

    Raises `BuildError` for any file: the generators are not part of this version.
    """
    raise BuildError(
        f"{[*ods, *functional][0]}: op libraries from .td and .yaml files are not available in this version\n"
        f"  expected C++ and CUDA sources only; write the registration in C++ (REGISTER_USER_OP)"
    )


def _keep(name: str, inputs: Mapping[str, object], write: Callable[[Path], None]) -> Path:
    entry = cache.entry_for("source", name, cache.digest(inputs))
    if not entry.path.is_dir():
        with build_lock(f"source-{entry.path.name}", f'sources of "{name}"') as work:
            folder = work / "source"
            folder.mkdir()
            write(folder)
            cache.publish(folder, entry, inputs)
    return entry.path
