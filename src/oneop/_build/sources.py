"""Which files a source reaches, and whether they have changed.

As in ccache: the compiler says which headers it read (-MMD), and a *manifest* remembers them with the digest of their
contents. Next time the remembered files are compared, by size and time first, and by content only if these differ.
Files under a *root* (the SDK, the core's sources) are written down as `${root}/file`, so a result made from one
checkout or environment serves another one with the same contents.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from oneop._build.cache import cache_root, digest, read_json, write_json

#: A file changed this short before it was looked at may change again within the same clock tick: do not trust its time.
RACY_NS = 50_000_000

#: How many states of a source a manifest remembers, so that undoing an edit finds the earlier result.
REMEMBERED = 8


@dataclass(frozen=True)
class FileState:
    """A file as it was: what is compared, cheapest first."""

    size: int
    mtime_ns: int
    sha: str


@dataclass
class Files:
    """The files of one build: each is looked at and read at most once."""

    roots: Mapping[str, Path] = field(default_factory=dict)
    _encoded: dict[str, str] = field(default_factory=dict)
    _decoded: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    _shas: dict[str, str] = field(default_factory=dict)

    def encode(self, text: str) -> str:
        """Return `text` with the folder of each root replaced by `${root}`."""
        if text not in self._encoded:
            result = text
            for name, folder in self.roots.items():
                result = result.replace(str(folder), f"${{{name}}}")
            self._encoded[text] = result
        return self._encoded[text]

    def decode(self, text: str) -> str:
        """Return what `encode` was given."""
        if text not in self._decoded:
            result = text
            for name, folder in self.roots.items():
                result = result.replace(f"${{{name}}}", str(folder))
            self._decoded[text] = result
        return self._decoded[text]

    def stat(self, path: str) -> tuple[int, int]:
        """Return size and time of a file, or (-1, -1) if it is not there."""
        if path not in self._seen:
            try:
                result = Path(path).stat()
                self._seen[path] = (result.st_size, result.st_mtime_ns)
            except OSError:
                self._seen[path] = (-1, -1)
        return self._seen[path]

    def sha(self, path: str) -> str:
        """Return the digest of a file's contents, or "" if it cannot be read."""
        if path not in self._shas:
            try:
                self._shas[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()[:20]
            except OSError:
                self._shas[path] = ""
        return self._shas[path]

    def forget(self) -> None:
        """Look at everything anew."""
        self._seen.clear()
        self._shas.clear()


@dataclass(frozen=True)
class Manifest:
    """What is remembered about one source compiled in one way."""

    path: Path

    def find(self, files: Files) -> dict[str, str] | None:
        """Return {file: digest} of the remembered state that the files are in now, or None."""
        states = self._read()
        for index, state in enumerate(states):
            if not all(_same(files, files.decode(path), old) for path, old in state.items()):
                continue
            contents = {path: old.sha for path, old in state.items()}
            if index > 0 or any(files.stat(files.decode(path)) != (o.size, o.mtime_ns) for path, o in state.items()):
                self.remember(files, contents)  # next time by size and time alone
            return contents
        return None

    def remember(self, files: Files, contents: Mapping[str, str]) -> None:
        """Put a state first: `contents` is {file: digest}, with roots encoded."""
        now = time.time_ns()
        state = {}
        for path, sha in contents.items():
            size, mtime_ns = files.stat(files.decode(path))
            state[path] = FileState(size, mtime_ns if now - mtime_ns > RACY_NS else -1, sha)
        others = [old for old in self._read() if {path: o.sha for path, o in old.items()} != dict(contents)]
        rows = [{path: [o.size, o.mtime_ns, o.sha] for path, o in one.items()} for one in [state, *others][:REMEMBERED]]
        write_json(self.path, {"states": rows})

    def _read(self) -> list[dict[str, FileState]]:
        states = read_json(self.path).get("states", [])
        assert isinstance(states, list)
        return [{path: FileState(*row) for path, row in state.items()} for state in states]


def manifest_for(name: str, facts: Mapping[str, object]) -> Manifest:
    """Return the manifest of a source compiled as `facts` (compiler, flags, ...) say."""
    return Manifest(cache_root() / "manifest" / f"{name}-{digest(facts)}.json")


def contents_of(files: Files, paths: Iterable[str], since_ns: int) -> dict[str, str] | None:
    """Return {file: digest}, or None if one changed after `since_ns`: then nobody knows what the compiler saw."""
    contents, now_ns = {}, time.time_ns()
    for path in paths:
        if since_ns < files.stat(path)[1] <= now_ns:  # a date in the future says nothing
            return None
        contents[files.encode(path)] = files.sha(path)
    return contents


def read_depfile(text: str, folder: Path) -> list[str]:
    """Return the files that a Makefile rule written by a compiler depends on, as absolute paths."""
    _, _, names = text.replace("\\\n", " ").partition(": ")
    found = [re.sub(r"\\(.)", r"\1", name).replace("$$", "$") for name in re.findall(r"(?:\\.|\S)+", names)]
    return [str(folder / name) for name in dict.fromkeys(found)]


def _same(files: Files, path: str, old: FileState) -> bool:
    size, mtime_ns = files.stat(path)
    if size != old.size:
        return False
    return mtime_ns == old.mtime_ns or files.sha(path) == old.sha
