"""Files that a build reads: their contents as digests, and stamps that save reading them again.

A *stamp* is size, mtime, ctime and inode. The kernel sets the ctime at every change of content or attributes and offers
no call to set it, so a file whose stamp is unchanged has unchanged content, even if an editor or `touch -r` put the
mtime back. Only a change within the same clock tick could escape: a stamp that young is never trusted.

Files below a *root* (the SDK, the core's sources) are written down as `${root}/file`, so a result made from one
checkout or environment serves another one with the same contents.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: A file changed this short before it was looked at may change again within the same clock tick.
RACY_NS = 50_000_000

Stamp = tuple[int, int, int, int]

#: The stamp of a file that is absent, and that no file has.
ABSENT: Stamp = (-1, -1, -1, -1)


#: Digests of files that this process has read, each with a stamp that is trusted. Headers of a second build are in it.
_digests: dict[str, tuple[Stamp, str]] = {}


@dataclass
class Files:
    """The files of one build: each is looked at and read at most once."""

    roots: Mapping[str, Path] = field(default_factory=dict)
    _decoded: dict[str, str] = field(default_factory=dict)
    _stamps: dict[str, Stamp] = field(default_factory=dict)
    _shas: dict[str, str] = field(default_factory=dict)

    def encode(self, path: str) -> str:
        """Return the path with a leading root folder replaced by `${root}`. Paths are absolute, so none looks so."""
        for name, folder in self.roots.items():
            if path.startswith(f"{folder}/"):
                return f"${{{name}}}{path[len(str(folder)) :]}"
        return path

    def decode(self, path: str) -> str:
        """Return what `encode` was given."""
        if path[0] != "$":
            return path
        decoded = self._decoded.get(path)
        if decoded is None:
            name, _, rest = path[2:].partition("}")
            decoded = self._decoded[path] = f"{self.roots[name]}{rest}" if name in self.roots else path
        return decoded

    def encode_flag(self, flag: str) -> str:
        """Return a flag for a key: as `encode`, anywhere in the text, and different for different flags."""
        result = flag.replace("$", "$$")
        for name, folder in self.roots.items():
            text = str(folder).replace("$", "$$")
            result = result.replace(f"{text}/", f"${{{name}}}/")
            if result.endswith(text):
                result = f"{result[: -len(text)]}${{{name}}}"
        return result

    def stamp(self, path: str) -> Stamp:
        """Return size, mtime, ctime and inode of a regular file, or `ABSENT`."""
        facts = self._stamps.get(path)
        if facts is None:
            facts = self._stamps[path] = stamp_of(path)
        return facts

    def sha(self, path: str) -> str:
        """Return the digest of a file's contents, or "" if it cannot be read."""
        digest = self._shas.get(path)
        if digest is None:
            stamp = self.stamp(path)  # before the content: a change between the two makes the stamp old, not the digest
            known = _digests.get(path)
            if known is not None and known[0] == stamp != ABSENT:
                digest = known[1]
            else:
                digest = sha_of(path)
                _digests[path] = (trusted(stamp, time.time_ns()), digest)
            self._shas[path] = digest
        return digest

    def forget(self) -> None:
        """Look at everything again."""
        self._stamps.clear()
        self._shas.clear()


def stamp_of(path: str) -> Stamp:
    """Return the stamp of a file as it is now."""
    try:
        status = os.stat(path)  # noqa: PTH116 (called for hundreds of files)
    except (OSError, ValueError):
        return ABSENT
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def trusted(stamp: Stamp, now_ns: int) -> Stamp:
    """Return the stamp, or one that no file has if the file could still change without changing it."""
    return stamp if now_ns - max(stamp[1], stamp[2]) > RACY_NS else ABSENT


def sha_of(path: str | Path) -> str:
    """Return the digest of a file's contents, or "" if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (called for hundreds of files)
            return hashlib.file_digest(file, "sha256").hexdigest()[:20]
    except (OSError, ValueError):
        return ""


def contents_of(files: Files, paths: Iterable[str], since_ns: int) -> dict[str, str] | None:
    """Return {file: digest}, or None if one changed after `since_ns`: then nobody knows what the compiler saw."""
    contents = {}
    for path in paths:
        if changed_since(files.stamp(path), since_ns):
            return None
        contents[files.encode(path)] = files.sha(path)
    return contents


def changed_since(stamp: Stamp, since_ns: int) -> bool:
    """Tell whether a file changed after a moment. A ctime in the future (a server's clock) says nothing."""
    return since_ns < stamp[2] <= time.time_ns()
