"""The build cache: a folder of finished results, each named by what made it.

    <root>/<kind>/<name>-<key>/   an entry: the result, build.log, command.txt, meta.json, and inputs.json with all that
                                  made the key
    <root>/manifest/              which files a source was seen to read, see manifest.py
    <root>/compiler/              what compilers said of themselves
    <root>/lock/, <root>/work/    who builds what now, see lock.py
    <root>/trash/                 entries on their way out

An entry is written to disk, appears by one rename and never changes, so a reader needs no lock and never sees half a
result. meta.json holds the digest of each file, and JSON files hold their own: what was damaged later is noticed before
it is used, counts as absent, and is made again.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from oneop._build.sources import sha_of
from oneop._build.trust import why_not_trusted
from oneop.errors import BuildError
from oneop.settings import settings

KINDS = ("library", "core", "host", "object", "header", "source", "failed")

#: Kinds that take long to make: `clear` removes them only by name.
COSTLY_KINDS = ("core",)

#: So long may the part of a file name be that comes from a user.
LONGEST_NAME = 180

_DIGEST_LENGTH = 20


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One finished result."""

    kind: str
    name: str
    key: str
    path: Path

    def meta(self) -> dict[str, object]:
        """Return meta.json, or an empty dict if the entry was cleared meanwhile or is damaged."""
        return read_json(self.path / "meta.json")

    def inputs(self) -> dict[str, object]:
        """Return inputs.json, what made the key, or an empty dict. Apart, because it is long and seldom asked for."""
        return read_json(self.path / "inputs.json")

    def has(self, file_name: str) -> bool:
        """Tell whether a file of the entry is as it was made, and nobody else could have written it."""
        files = self.meta().get("files")
        sha = files.get(file_name) if isinstance(files, dict) else None
        return (
            isinstance(sha, str)
            and sha_of(self.path / file_name) == sha
            and not why_not_trusted(self.path)
            and not why_not_trusted(self.path / file_name)
        )


@functools.cache
def _user_cache() -> Path:
    import platformdirs

    return platformdirs.user_cache_path("oneop")


#: Roots that were found to be safe.
_checked: set[Path] = set()


def cache_root() -> Path:
    """Return the cache folder, which need not exist yet. Raises `BuildError` if others could put code into it."""
    root = settings.cache_dir or _user_cache()
    if root not in _checked:
        problem = why_not_trusted(root)
        if problem:
            raise BuildError(
                f"the build cache {root} cannot be used: {problem}\n"
                f"  code in it would run with your rights\n"
                f"  chmod go-w {root} if it is yours, else set ONEOP_CACHE_DIR to a folder of yours"
            )
        if root.is_dir():
            _checked.add(root)
    return root


def make_dir(path: Path) -> Path:
    """Make a folder of the cache and return it. Raises `BuildError` if it cannot be written."""
    root = cache_root()
    try:
        if root.exists() and not root.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(root))
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        for part in (path, *path.parents):
            if part == root:
                break
            if part.is_file():
                remove(part)  # a damaged cache
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(error) from None
    return path


def cannot_write(error: OSError) -> BuildError:
    """Return the error for a cache that cannot be written."""
    where = f" ({error.filename})" if error.filename and str(error.filename) != str(cache_root()) else ""
    advice = "make room there, or set ONEOP_CACHE_DIR to another disk"
    if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        advice = "set ONEOP_CACHE_DIR to a folder of yours"
    return BuildError(f"cannot write to the build cache {cache_root()}: {error.strerror}{where}\n  {advice}")


def digest(inputs: object) -> str:
    """Return the key that `inputs` (anything JSON can hold) make."""
    text = json.dumps(inputs, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_LENGTH]


def entry_for(kind: str, name: str, key: str) -> Entry:
    """Return the entry of this key, which need not exist."""
    name = name[:LONGEST_NAME]
    return Entry(kind=kind, name=name, key=key, path=cache_root() / kind / f"{name}-{key}")


def publish(
    folder: Path, entry: Entry, inputs: Mapping[str, object], facts: Mapping[str, object] | None = None
) -> None:
    """Add meta.json and inputs.json to a finished folder and move it into the cache, in place of what is there.

    `inputs` is what made the key, `facts` what is good to know besides.
    """
    files = {}
    for path in sorted(folder.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o022)
        if path.is_file():
            files[str(path.relative_to(folder))] = sha_of(path)
            _sync(path)
    folder.chmod(0o755)
    meta = {"kind": entry.kind, "name": entry.name, "key": entry.key, "created": time.time(), **(facts or {})}
    write_json(folder / "inputs.json", inputs)
    write_json(folder / "meta.json", {**meta, "files": files}, sync=True)
    _sync(folder)
    make_dir(entry.path.parent)
    discard(entry)
    try:
        folder.rename(entry.path)
    except OSError:
        if not entry.path.is_dir():  # else another process was faster with the same content
            raise
        shutil.rmtree(folder, ignore_errors=True)
    _sync(entry.path.parent)


def discard(entry: Entry) -> None:
    """Remove an entry if it is there; readers see it whole or not at all."""
    if entry.path.exists() or entry.path.is_symlink():
        remove(entry.path)


def remove(path: Path) -> None:
    """Remove a file or folder of the cache by one rename."""
    grave = cache_root() / "trash" / f"{os.getpid()}-{time.monotonic_ns()}"
    try:
        if grave.parent.is_file():
            grave.parent.unlink()
        grave.parent.mkdir(parents=True, exist_ok=True)
        path.rename(grave)
    except OSError:
        return
    if grave.is_dir() and not grave.is_symlink():
        shutil.rmtree(grave, ignore_errors=True)
    else:
        grave.unlink(missing_ok=True)


def list_entries(kind: str | None = None, name: str | None = None) -> Iterator[Entry]:
    """Yield the entries of the cache, newest last, all or those of one kind and name."""
    dated: list[tuple[float, Entry]] = []
    for one_kind in KINDS if kind is None else (kind,):
        folder = cache_root() / one_kind
        for path in folder.iterdir() if folder.is_dir() else ():
            entry_name, _, key = path.name.rpartition("-")
            if name is None or entry_name == name:
                with contextlib.suppress(FileNotFoundError):
                    dated.append((path.stat().st_mtime, Entry(kind=one_kind, name=entry_name, key=key, path=path)))
    for _, entry in sorted(dated, key=lambda pair: pair[0]):
        yield entry


def clear(kind: str | None = None, name: str | None = None, *, everything: bool = False) -> int:
    """Remove entries, all or those of one kind and name, and return how many. A build under way may then fail.

    Kinds that take long to make stay unless they are named, or `everything` is to go.
    """
    count = 0
    for entry in list(list_entries(kind, name)):
        if kind is None and name is None and entry.kind in COSTLY_KINDS and not everything:
            continue
        discard(entry)
        count += 1
    if kind is None and name is None:
        for folder in ("manifest", "compiler", "ods", "loaded"):
            shutil.rmtree(cache_root() / folder, ignore_errors=True)
    return count


def read_json(path: Path) -> dict[str, object]:
    """Return the object that `write_json` wrote, or an empty one if the file is absent or damaged."""
    try:
        text = path.read_bytes()
        head, body = text[: len(_HEAD) + _DIGEST_LENGTH + len(_MIDDLE)], text[len(_head("")) + _DIGEST_LENGTH : -2]
        if head != _head(hashlib.sha256(body).hexdigest()[:_DIGEST_LENGTH]) or text[-2:] != b"}\n":
            return {}
        value = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: object, *, sync: bool = False) -> None:
    """Write a JSON file by rename, so that a reader sees the old or the new one, with a digest of its content."""
    make_dir(path.parent)
    body = json.dumps(value, separators=(", ", ": ")).encode()
    temporary = path.with_name(f"{path.name[:40]}.{os.getpid()}-{time.monotonic_ns()}")
    try:
        temporary.write_bytes(_head(hashlib.sha256(body).hexdigest()[:_DIGEST_LENGTH]) + body + b"}\n")
        temporary.chmod(0o644)
        if sync:
            _sync(temporary)
        if path.is_dir():
            remove(path)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def note_json(path: Path, value: object) -> None:
    """Write a JSON file that only saves time. A cache that cannot be written is no error then."""
    with contextlib.suppress(OSError, BuildError):
        write_json(path, value)


_HEAD, _MIDDLE = b'{"digest": "', b'",\n"value": '


def _head(sha: str) -> bytes:
    return _HEAD + sha.encode() + _MIDDLE


def _sync(path: Path) -> None:
    """Have the disk hold a file or folder before anything refers to it. A full disk may be noticed only here."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some filesystems refuse it for folders
            raise
    finally:
        os.close(handle)
