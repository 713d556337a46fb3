"""Manifests: what a source was seen to read, and where its compiler looked in vain.

As in ccache's direct mode, but with what ccache leaves out. A *state* of a source, compiled in one way, is

* the files that were read, with stamp and digest (system headers too);
* for each folder that was searched, its stamp, and which names were looked for in it and not there.

A state holds if every file still has its content and none of the names has appeared. Files are compared by stamp, and
by content only if that differs. A folder's stamp changes when an entry is added, so names are looked up only then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oneop._build.cache import cache_root, digest, note_json, read_json
from oneop._build.sources import ABSENT, Files, Stamp, stamp_of, trusted

#: How many states of a source a manifest remembers, so that undoing an edit finds the earlier result.
REMEMBERED = 8


@dataclass(frozen=True, kw_only=True)
class Reads:
    """What one run of a compiler or linker depended on, apart from its command."""

    contents: Mapping[str, str]  # {file: digest}, with roots encoded
    absent: Mapping[str, list[str]] = field(default_factory=dict)  # {folder: names below it that are not there}
    cwd: str = ""  # the working folder, if it matters
    text: str = ""  # the digest of the preprocessed text, if names of headers are put together by macros

    def inputs(self) -> dict[str, object]:
        """Return the part that decides what comes out."""
        extra = {name: value for name, value in (("cwd", self.cwd), ("text", self.text)) if value}
        return {"contents": dict(self.contents), **extra}


@dataclass(frozen=True)
class _State:
    read: dict[str, tuple[Stamp, str]]
    folders: dict[str, Stamp]
    absent: str
    cwd: str
    text: str

    @staticmethod
    def parse(row: Any) -> _State:
        """Return the state in a parsed JSON value. Raises if it has another form."""
        read = {str(path): (_stamp(stamp), str(sha)) for path, (stamp, sha) in row["read"].items()}
        folders = {str(path): _stamp(stamp) for path, stamp in row["folders"].items()}
        return _State(read, folders, str(row["absent"]), str(row["cwd"]), str(row["text"]))

    def to_json(self) -> dict[str, object]:
        return {
            "read": self.read,
            "folders": self.folders,
            "absent": self.absent,
            "cwd": self.cwd,
            "text": self.text,
        }

    def reads(self) -> Reads:
        return Reads(contents={path: sha for path, (_, sha) in self.read.items()}, cwd=self.cwd, text=self.text)


@dataclass(frozen=True)
class Manifest:
    """What is remembered about one source compiled in one way."""

    path: Path

    def find(self, files: Files, preprocess: Callable[[], str]) -> Reads | None:
        """Return the remembered state that the files are in now, or None.

        `preprocess` returns the digest of the preprocessed source, or "" where there is no compiler to ask.
        """
        states = self._load()
        for index, state in enumerate(states):
            holds, stamped = self._holds(state, files, preprocess)
            if not holds:
                continue
            if index > 0 or not stamped:
                self._store([_refresh(state, files), *(other for other in states if other is not state)])
            return state.reads()
        return None

    def remember(self, files: Files, reads: Reads) -> None:
        """Put a state first."""
        name = digest(reads.absent)
        if not read_json(_absent_path(name)):
            note_json(_absent_path(name), {"absent": dict(reads.absent)})
        read = {path: (ABSENT, sha) for path, sha in reads.contents.items()}
        state = _State(read, {folder: ABSENT for folder in reads.absent}, name, reads.cwd, reads.text)
        others = [old for old in self._load() if old.reads() != state.reads()]
        self._store([_refresh(state, files), *others])

    def _holds(self, state: _State, files: Files, preprocess: Callable[[], str]) -> tuple[bool, bool]:
        """Tell whether everything is as the state says, and whether the stamps alone said so."""
        if state.cwd and state.cwd != os.getcwd():  # noqa: PTH109
            return False, False
        stamped = True
        for path, (stamp, sha) in state.read.items():
            now = files.stamp(files.decode(path))
            if now != stamp or now == ABSENT:
                stamped = False
                if now == ABSENT or files.sha(files.decode(path)) != sha:
                    return False, False
        changed = [folder for folder, stamp in state.folders.items() if files.stamp(files.decode(folder)) != stamp]
        if changed and not _still_absent(state, files, changed):
            return False, False
        if state.text and preprocess() not in ("", state.text):
            return False, False
        return True, stamped and not changed

    def _load(self) -> list[_State]:
        rows = read_json(self.path).get("states")
        try:
            return [_State.parse(row) for row in rows]  # type: ignore[attr-defined]
        except (TypeError, ValueError, KeyError, AttributeError):
            return []  # absent, or of another form: both mean that nothing is remembered

    def _store(self, states: list[_State]) -> None:
        note_json(self.path, {"states": [state.to_json() for state in states[:REMEMBERED]]})


def manifest_for(name: str, facts: Mapping[str, object]) -> Manifest:
    """Return the manifest of a source compiled as `facts` (compiler, flags, ...) say."""
    return Manifest(cache_root() / "manifest" / f"{name[:80]}-{digest(facts)}.json")


def _stamp(row: Any) -> Stamp:
    size, mtime, ctime, inode = row
    return int(size), int(mtime), int(ctime), int(inode)


def _refresh(state: _State, files: Files) -> _State:
    """Return the state with the stamps of now. Its files and folders were just found to be as it says."""
    now = time.time_ns()
    read = {path: (trusted(files.stamp(files.decode(path)), now), sha) for path, (_, sha) in state.read.items()}
    folders = {folder: trusted(files.stamp(files.decode(folder)), now) for folder in state.folders}
    return _State(read, folders, state.absent, state.cwd, state.text)


def _still_absent(state: _State, files: Files, changed: list[str]) -> bool:
    absent = read_json(_absent_path(state.absent)).get("absent")
    if not isinstance(absent, dict) or set(absent) != set(state.folders):
        return False
    return all(stamp_of(f"{files.decode(folder)}/{name}") == ABSENT for folder in changed for name in absent[folder])


def _absent_path(name: str) -> Path:
    return cache_root() / "manifest" / f"absent-{name}.json"
