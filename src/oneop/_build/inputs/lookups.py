"""What a compiler looked for: names of headers in preprocessor lines, and the places where they were not found.

A header that appears earlier in the search path, or one that `__has_include` asks for, changes the result although no
file that was read has changed. Compilers do not report such places, so they are derived: every name that a preprocessor
line could mean, joined with every folder that is searched before the one where it is found. A name too many (from a
branch that is not taken) costs at worst one needless compile; a name too few would be old code.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from oneop._build.sources import ABSENT, Files, Stamp, changed_since, stamp_of, trusted

_GAP = r"(?:[ \t]|/\*(?:[^*]|\*(?!/))*\*/)*"
_LINE = re.compile(rf"^{_GAP}(?:#|%:){_GAP}(include(?:_next)?|import|embed|if|elif|define)\b(.*)$", re.MULTILINE)
_COMMENT_IN_LINE = re.compile(
    r"\*/[ \t]*(?:#|%:)|(?:#|%:)[ \t]*/\*"
)  # before or after the #; it may have several lines
_NAME = re.compile(r'"([^"\n]+)"|<([^<>\n]+)>')
_MACRO = re.compile(r"\s*(\w+)(?:\(([^)]*)\))?")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)+)"')

#: What asks for a header without reading it.
_ASKS = frozenset({"__has_include", "__has_include_next", "__has_embed"})


@dataclass
class Names:
    """The names that some files mention in preprocessor lines."""

    quoted: set[tuple[str, str]] = field(default_factory=set)  # (folder of the file that says it, name)
    angled: set[str] = field(default_factory=set)
    computing: set[str] = field(default_factory=set)  # folders of files with an #include of what a macro stands for
    asks_computed: bool = False  # __has_include of a name that macros put together
    strings: set[str] = field(default_factory=set)  # of files with .incbin: names that the assembler may read


def read_names(paths: Iterable[str]) -> Names:
    """Return the names that these files mention."""
    names, texts = Names(), {}
    for path in paths:
        text = texts[path] = _text_of(path)
        folder = os.path.dirname(path)  # noqa: PTH120
        for word, rest in text.lines:
            if word == "define":
                continue
            includes = _NAME.findall(rest)
            if not includes and word not in ("if", "elif"):
                names.computing.add(folder)
            for quoted, angled in includes:
                if word in ("if", "elif") and not _could_be_file(quoted or angled):
                    continue
                if quoted:
                    names.quoted.add((folder, quoted))
                else:
                    names.angled.add(angled)
    for text in texts.values():  # names behind a macro: #define CONFIG __has_include("config.h")
        for word, rest in text.lines if text.asks else ():
            if word == "define":
                names.angled.update(angled for _, angled in _NAME.findall(rest) if _could_be_file(angled))
                names.quoted.update(
                    (f, q) for q, _ in _NAME.findall(rest) if _could_be_file(q) for f in _folders(texts)
                )
    names.asks_computed = _asks_for_computed(texts.values())
    if any(text.embeds for text in texts.values()):
        for string in {string for path in texts for string in _STRING.findall(_read(path))}:
            plain = re.sub(r"\\(.)", r"\1", string)
            names.strings.update([plain, *re.findall(r'"([^"]+)"', plain)])  # ".incbin \"data.bin\"" holds a name
    return names


@dataclass
class Search:
    """Looks names up as the compiler did, and keeps what was absent.

    `since_ns` is the moment before the compiler ran. `unsure` is set if a file appeared later in a place that was
    searched: then nobody knows whether the compiler saw it.
    """

    files: Files
    read: frozenset[str]
    since_ns: int
    precompiled: bool = False  # for headers: g++ takes x.h.gch for x.h, and does not report either
    absent: dict[str, set[str]] = field(default_factory=dict)
    present: set[str] = field(default_factory=set)  # found, but not read: __has_include, or a branch not taken
    explained: set[str] = field(default_factory=set)  # files that were read, and found by a name
    unsure: bool = False
    _entries: dict[str, frozenset[str] | None] = field(default_factory=dict)
    _real: frozenset[str] = frozenset()

    def look_up(self, name: str, folders: Sequence[str]) -> None:
        """Follow one name through the folders up to the first that has it."""
        if name.startswith("/"):
            folders, name = [""], name[1:]
        for folder in folders:
            path = f"{folder}/{name}"
            if self.precompiled and self._may_exist(f"{path}.gch") and os.path.exists(f"{path}.gch"):  # noqa: PTH110
                self._note_present(folder, f"{path}.gch")
            elif self.precompiled:
                self.note_absent(f"{path}.gch")
            if path in self.read:
                self.explained.add(path)
                return
            if self._may_exist(path) and os.path.isfile(path):  # noqa: PTH113
                self._note_present(folder, path)
                return
            self.note_absent(path)

    def note_absent(self, path: str) -> None:
        """Keep that this file is not there, under the nearest folder that is: a new entry changes its stamp."""
        folder, _, name = path.rpartition("/")
        while folder and self._entries_of(folder) is None:
            folder, _, last = folder.rpartition("/")
            name = f"{last}/{name}"
        folder = folder or "/"
        if folder not in self.absent:
            self.files.stamp(folder)
            self.absent[folder] = set()
        if self._may_exist(f"{folder}/{name.partition('/')[0]}") and stamp_of(path) != ABSENT:
            self.unsure = self.unsure or os.path.isfile(path)  # noqa: PTH113
        else:
            self.absent[folder].add(name)

    def _note_present(self, folder: str, path: str) -> None:
        self._real = self._real or frozenset(map(os.path.realpath, self.read))
        if os.path.realpath(path) in self._real:
            return
        self.present.add(path)
        while len(path) > len(folder):  # a subfolder moved into place brings files of any age
            self.unsure = self.unsure or changed_since(stamp_of(path), self.since_ns)
            path = os.path.dirname(path)  # noqa: PTH120

    def _may_exist(self, path: str) -> bool:
        """Tell whether the folder had this entry when it was read; a folder is read once, not asked for each name."""
        folder, _, name = path.rpartition("/")
        entries = self._entries_of(folder or "/")
        return entries is not None and (name in entries or name in ("", ".", ".."))

    def _entries_of(self, folder: str) -> frozenset[str] | None:
        """Return the names in a folder, None if it is none. What appears later makes the folder's stamp old."""
        if folder not in self._entries:
            self.files.stamp(folder)
            try:
                self._entries[folder] = frozenset(os.listdir(folder))  # noqa: PTH208
            except (OSError, ValueError):
                self._entries[folder] = None
        return self._entries[folder]


def _folders(paths: Iterable[str]) -> set[str]:
    return {os.path.dirname(path) for path in paths}  # noqa: PTH120


def _could_be_file(name: str) -> bool:
    return not re.search(r"\s|[()?*&|=;]", name)


def _asks_for_computed(texts: Iterable[_Text]) -> bool:
    """Tell whether an `__has_include` is given anything but a name in quotes or brackets."""
    lines = [line for text in texts if text.asks for line in text.lines]
    asking = set(_ASKS)
    while True:  # macros that pass their argument on to __has_include ask as well
        wrappers = {
            macro[1]
            for word, rest in lines
            if word == "define" and (macro := _MACRO.match(rest)) and macro[2] is not None
            for argument in _arguments(rest[macro.end() :], asking)
            if argument in [name.strip() for name in macro[2].split(",")]
        }
        if wrappers <= asking:
            break
        asking |= wrappers
    for word, rest in lines:
        macro = _MACRO.match(rest) if word == "define" else None
        own = [name.strip() for name in macro[2].split(",")] if macro and macro[2] is not None else []
        body = rest[macro.end() :] if macro else rest
        if word in ("if", "elif", "define") and any(
            argument[:1] not in ('"', "<") and argument not in own for argument in _arguments(body, asking)
        ):
            return True
    return False


@dataclass(frozen=True)
class _Text:
    """What is kept of the text of a file."""

    stamp: Stamp
    lines: tuple[tuple[str, str], ...]  # word and rest of the preprocessor lines
    asks: bool  # it says __has_include or __has_embed
    embeds: bool  # it says .incbin


#: Of files that this process has read, each with a stamp that is trusted. Headers of a second build are in it.
_texts: dict[str, _Text] = {}


def _text_of(path: str) -> _Text:
    stamp, known = stamp_of(path), _texts.get(path)
    if known is None or known.stamp != stamp or stamp == ABSENT:
        text = _read(path)
        asks = "has_include" in text or "has_embed" in text
        stamp = trusted(stamp, time.time_ns())
        known = _texts[path] = _Text(stamp, tuple(_lines(text)), asks, "incbin" in text)
    return known


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Return word and rest of the preprocessor lines. Of the many lines of headers few are parsed."""
    parts = [text]
    if not _COMMENT_IN_LINE.search(text):
        parts = [line for line in text.split("\n") if "#" in line or "%:" in line]
    for part in parts:
        for line in _LINE.finditer(part):
            yield line[1], line[2]


def _arguments(text: str, functions: set[str]) -> list[str]:
    if not any(function in text for function in functions):
        return []
    called = re.compile(rf"\b(?:{'|'.join(map(re.escape, functions))})\s*\(\s*([^\s)]+)")
    return called.findall(text)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:  # noqa: PTH123
            return file.read().replace("\\\r\n", " ").replace("\\\n", " ")
    except OSError:
        return ""
