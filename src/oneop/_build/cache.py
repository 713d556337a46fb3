"""The build cache: a folder of finished results, each named by what made it.

    <root>/<kind>/<name>-<key>/   an entry: the result, build.log, command.txt, and meta.json with the inputs of the key
    <root>/manifest/              which files a source was seen to include, see sources.py
    <root>/lock/, <root>/work/    who builds what now, see lock.py
    <root>/trash/                 entries on their way out

An entry appears by one rename and never changes, so a reader needs no lock and never sees half a result.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oneop.errors import BuildError
from oneop.settings import settings

KINDS = ("library", "core", "object", "source", "failed")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One finished result."""

    kind: str
    name: str
    key: str
    path: Path

    def meta(self) -> dict[str, object]:
        """Return meta.json, or an empty dict if the entry was cleared meanwhile."""
        return read_json(self.path / "meta.json")


@functools.cache
def _user_cache() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("oneop")


def cache_root() -> Path:
    """Return the cache folder, which need not exist yet."""
    return settings.cache_dir or _user_cache()


def make_dir(path: Path) -> Path:
    """Make a folder of the cache and return it. Raises `BuildError` if it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(
            f"cannot write to the build cache {cache_root()}: {error.strerror}\n"
            f"  set ONEOP_CACHE_DIR to a folder of yours"
        ) from None
    return path


def digest(inputs: object) -> str:
    """Return the key that `inputs` (anything JSON can hold) make."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def entry_for(kind: str, name: str, key: str) -> Entry:
    """Return the entry of this key, which need not exist."""
    return Entry(kind=kind, name=name, key=key, path=cache_root() / kind / f"{name}-{key}")


def publish(
    folder: Path, entry: Entry, inputs: Mapping[str, object], facts: Mapping[str, object] | None = None
) -> None:
    """Add meta.json to a finished folder and move it into the cache.

    An entry that is there already stays if it has the same content by construction (any kind but "failed"). `inputs` is
    what made the key, `facts` what is good to know besides.
    """
    meta = {"kind": entry.kind, "name": entry.name, "key": entry.key, "created": time.time(), **(facts or {})}
    write_json(folder / "meta.json", {**meta, "inputs": inputs})
    make_dir(entry.path.parent)
    if entry.kind == "failed":
        shutil.rmtree(entry.path, ignore_errors=True)
    try:
        folder.rename(entry.path)
    except OSError:
        if not entry.path.is_dir():  # else another process was faster with the same content
            raise
        shutil.rmtree(folder, ignore_errors=True)


def discard(entry: Entry) -> None:
    """Remove an entry if it is there; readers see it whole or not at all."""
    grave = cache_root() / "trash" / f"{os.getpid()}-{time.monotonic_ns()}"
    try:
        make_dir(grave.parent)
        entry.path.rename(grave)
    except OSError:
        return
    shutil.rmtree(grave, ignore_errors=True)


def list_entries(kind: str | None = None, name: str | None = None) -> Iterator[Entry]:
    """Yield the entries of the cache, newest last, all or those of one kind and name."""
    found: list[tuple[float, Entry]] = []
    for one_kind in KINDS if kind is None else (kind,):
        folder = cache_root() / one_kind
        for path in folder.iterdir() if folder.is_dir() else ():
            entry_name, _, key = path.name.rpartition("-")
            if name is None or entry_name == name:
                with contextlib.suppress(FileNotFoundError):
                    found.append((path.stat().st_mtime, Entry(kind=one_kind, name=entry_name, key=key, path=path)))
    for _, entry in sorted(found, key=lambda pair: pair[0]):
        yield entry


def clear(kind: str | None = None, name: str | None = None) -> int:
    """Remove entries, all or those of one kind and name, and return how many. A build under way may then fail."""
    count = 0
    for entry in list(list_entries(kind, name)):
        discard(entry)
        count += 1
    if kind is None and name is None:
        shutil.rmtree(cache_root() / "manifest", ignore_errors=True)
        shutil.rmtree(cache_root() / "compiler", ignore_errors=True)
    return count


def read_json(path: Path) -> dict[str, object]:
    """Return the object in a JSON file, or an empty one if the file is absent or damaged."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: object) -> None:
    """Write a JSON file by rename, so that a reader sees the old or the new one."""
    make_dir(path.parent)
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{time.monotonic_ns()}")
    temporary.write_text(json.dumps(value, indent=1))
    temporary.replace(path)
