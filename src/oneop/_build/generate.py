"""Sources that are not the user's files: texts given inline, and C++ made from op definitions.

Both are written into the cache once, named by their contents, and then built like any other source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from oneop._build import cache
from oneop._build.lock import build_lock
from oneop._build.plan import Explain
from oneop.errors import BuildError


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Sources in the cache, the folder of their headers, and how to read a compiler's complaints about them."""

    sources: tuple[Path, ...] = ()
    folder: Path | None = None
    explain: Explain | None = None


def keep_texts(name: str, texts: Mapping[str, str]) -> list[Path]:
    """Return files of the cache that hold `texts`, which is {file name: text}."""
    folder = _keep(name, texts) if texts else Path()
    return [folder / file_name for file_name in texts]


def generate(
    name: str, ods: Sequence[Path], functional: Sequence[Path], include_dirs: Sequence[Path], defines: Sequence[str]
) -> Generated:
    """Return the C++ that op definitions and functional descriptions stand for.

    Raises `OdsError` or `FunctionalError`, with file, line and column, if one of them is malformed.
    """
    if not ods and not functional:
        return Generated()
    for file in (*ods, *functional):
        if not file.is_file():
            raise BuildError(f'library "{name}": {file} is not there')
    from oneop.functional import read_yaml  # here, because a library without definitions needs none of it
    from oneop.functional.cpp import generate_functions
    from oneop.functional.stubs import function_stubs, op_stubs
    from oneop.model.stub_package import stub_package
    from oneop.ods import read_ops
    from oneop.ods.cpp import generate_cpp
    from oneop.ods.explain import explain

    ops = [op for file in ods for op in read_ops(file, include_dirs, defines)]
    functions = [function for file in functional for function in read_yaml(file)]
    texts = generate_cpp(ops) if ods else {}
    texts |= generate_functions(functions) if functional else {}
    stubs = stub_package({"ops.pyi": op_stubs(ops), "_C.pyi": function_stubs(functions)})
    texts |= {f"stubs/{path}": text for path, text in stubs.items()}
    folder = _keep(name, texts)
    sources = tuple(folder / text for text in texts if text.endswith(".cpp"))
    return Generated(sources=sources, folder=folder, explain=partial(explain, ops=ops))


def _keep(name: str, texts: Mapping[str, str]) -> Path:
    inputs = {"texts": dict(texts)}
    entry = cache.entry_for("source", name, cache.digest(inputs))
    if not _has(entry.path, texts):
        with build_lock(f"source-{entry.path.name}", f'sources of "{name}"') as work:
            folder = work / "source"
            for file_name, text in texts.items():
                path = folder / file_name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(_bytes(text))
            cache.publish(folder, entry, inputs)
    return entry.path


def _has(folder: Path, texts: Mapping[str, str]) -> bool:
    """Tell whether the files are there, with these texts: a damaged one is written again, not compiled."""
    try:
        return all((folder / file_name).read_bytes() == _bytes(text) for file_name, text in texts.items())
    except OSError:
        return False


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
