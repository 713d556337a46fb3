"""What one run of a compiler or linker read, from its own report, and what it looked for.

The report is the dependency file (-MD for compilers, --dependency-file for linkers). Makefile syntax cannot hold every
path (newlines, some backslashes); where it could be misread, line markers of the preprocessed text are read instead.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from oneop._build.compiler import Compiler
from oneop._build.inputs.flags import expand, path_parts, values_of
from oneop._build.inputs.lookups import Search, read_names
from oneop._build.manifest import Reads
from oneop._build.sources import Files, contents_of

_MARKER = re.compile(rb'^# \d+ "((?:[^"\\]|\\.)*)"', re.MULTILINE)


def compiler_reads(
    files: Files,
    compiler: Compiler,
    flags: Sequence[str],
    source: str,
    depfile: str,
    since_ns: int,
    covered: Sequence[str],
) -> Reads | None:
    """Return what a compiler read and where it looked, or None if that cannot be told.

    `flags` are without source and outputs. Files below a folder of `covered` are left out: something else in the key
    stands for them.
    """
    cwd, command = os.getcwd(), (*compiler.command, *flags)  # noqa: PTH109
    listed = _from_depfile(depfile, cwd) or _from_markers(command, source, cwd)
    if listed is None:
        return None
    listed = [path for path in listed if not path.startswith(tuple(f"{folder}/" for folder in covered))]
    search = Search(files, frozenset(listed), since_ns, precompiled=True)
    names = read_names(listed)
    quotes, folders = search_folders(command, compiler.family, cwd)
    for name in sorted(names.angled):
        search.look_up(name, folders)
    for folder, name in sorted(names.quoted):
        search.look_up(name, [folder, *quotes, *folders])
    if names.computing:
        for path in search.read - search.explained:
            for name in {path[len(folder) + 1 :] for folder in folders if path.startswith(f"{folder}/")}:
                search.look_up(name, [*sorted(names.computing), *quotes, *folders])
    data = {path for name in names.strings for path in _existing(name, [cwd, *quotes, *folders])}
    reads = _finish(files, search, [*listed, *sorted(data)], command, since_ns, cwd)
    if reads is None or not (data or names.asks_computed):
        return reads
    text = preprocessed(command, source) if names.asks_computed else ""
    return Reads(contents=reads.contents, absent=reads.absent, cwd=cwd if data else "", text=text)


def linker_reads(
    files: Files, command: Sequence[str], report: str | None, own: Iterable[str], since_ns: int, covered: Sequence[str]
) -> Reads | None:
    """Return what a linker read, apart from its `own` objects, and where it looked.

    Without a `report` (a linker that writes none) the libraries are looked up as linkers do.
    """
    cwd, skipped = os.getcwd(), set(own)  # noqa: PTH109
    words = list(expand(command))
    folders = [
        *values_of(words, "-L"),
        *os.environ.get("LIBRARY_PATH", "").split(os.pathsep),
        *library_folders(command),
    ]
    folders = [os.path.join(cwd, folder).rstrip("/") for folder in folders if folder]  # noqa: PTH118
    listed = _from_report(report, cwd) if report is not None else []
    if listed is None:
        return None
    listed = [
        path
        for path in listed
        if path not in skipped and not path.startswith(tuple(f"{folder}/" for folder in covered))
    ]
    listed += [member for path in listed for member in thin_members(path)]
    search = Search(files, frozenset(listed), since_ns)
    for name in values_of(words, "-l"):
        for file in [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]:
            search.look_up(file, folders)
    probed = sorted(search.present) if report is None else []
    return _finish(files, search, [*listed, *probed], command, since_ns, cwd, present=False)


def thin_members(path: str) -> list[str]:
    """Return the files that a thin static library names; it does not hold them. Other files have none."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (paths of linkers may be any text)
            if file.read(8) != b"!<thin>\n"[:8]:
                return []
    except OSError:
        return []
    output = _run(["ar", "t", path])
    if output is None or output.returncode != 0:
        return []
    names = os.fsdecode(output.stdout).splitlines()
    return [os.path.join(os.path.dirname(path), name) for name in names]  # noqa: PTH118, PTH120


def preprocessed(command: Sequence[str], source: str) -> str:
    """Return a digest of the preprocessed source, "" if there is none. The time of day is left out of it."""
    output = _run([*command, "-E", source, "-Wno-builtin-macro-redefined", "-D__DATE__=", "-D__TIME__="])
    return hashlib.sha256(output.stdout).hexdigest()[:20] if output is not None and output.returncode == 0 else ""


def search_folders(command: Sequence[str], family: str, cwd: str) -> tuple[list[str], list[str]]:
    """Return the folders that a compiler searches for "quoted" names only, and for all names, as it says itself.

    Folders that do not exist come first: once they do, they are searched, and nobody knows in which place.
    """
    verbose = ("-Xcompiler", "-v", "-x", "cu") if family == "nvcc" else ("-v", "-x", "c++")
    output = _run([*command, "-E", *verbose, os.devnull])
    text = os.fsdecode(output.stderr) if output is not None else ""
    ignored = re.findall(r'^ignoring nonexistent directory "(.*)"$', text, re.MULTILINE)
    quotes = re.search(r'^#include "\.\.\." search starts here:\n(.*?)^#include <', text, re.MULTILINE | re.DOTALL)
    folders = re.search(r"^#include <\.\.\.> search starts here:\n(.*?)^End of search", text, re.MULTILINE | re.DOTALL)
    own = [] if folders else [*values_of(command, "-I"), *values_of(command, "-isystem")]

    def absolute(block: str) -> list[str]:
        # clang adds " (framework directory)" on some systems
        lines = [re.sub(r" \(framework directory\)$", "", line.strip()) for line in block.splitlines()]
        return [os.path.join(cwd, line) for line in lines if line]  # noqa: PTH118

    return absolute(quotes[1] if quotes else ""), [
        *absolute("\n".join([*ignored, *own])),
        *absolute(folders[1] if folders else ""),
    ]


@functools.cache
def _library_folders(program: tuple[str, ...]) -> tuple[str, ...]:
    output = _run([*program, "-print-search-dirs"])
    line = re.search(r"^libraries: =(.*)$", os.fsdecode(output.stdout), re.MULTILINE) if output is not None else None
    return (*(line[1].split(os.pathsep) if line else ()), "/usr/local/lib", "/lib", "/usr/lib")


def library_folders(command: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that a linker searches by default."""
    program = [word for word in command if not word.startswith(("-Wl,", "-L", "-l"))]
    return _library_folders(tuple(program[: next((i for i, w in enumerate(program) if w.startswith("-")), None)]))


def _finish(
    files: Files,
    search: Search,
    listed: Iterable[str],
    command: Sequence[str],
    since_ns: int,
    cwd: str,
    *,
    present: bool = True,
) -> Reads | None:
    """Add the files that flags name, and return all with their contents."""
    named: list[str] = []
    for word in expand(command):
        for part in path_parts(word):
            path = os.path.join(cwd, part)  # noqa: PTH118
            if os.path.isfile(path):  # noqa: PTH113
                named.append(path)
            elif "/" in part and not os.path.isdir(path) and "\0" not in path:  # noqa: PTH112
                search.note_absent(path)
    probed = sorted(search.present) if present else []
    contents = contents_of(files, dict.fromkeys([*listed, *named, *probed]), since_ns)
    if contents is None or search.unsure:
        return None
    absent = {files.encode(f"{folder}/").rstrip("/") or "/": sorted(names) for folder, names in search.absent.items()}
    return Reads(contents=contents, absent=absent)


def _existing(name: str, folders: Sequence[str]) -> list[str]:
    paths = [os.path.join(folder, name) for folder in folders] if "\0" not in name else []  # noqa: PTH118
    return [path for path in paths if os.path.isfile(path)]  # noqa: PTH113


def _from_depfile(text: str, cwd: str) -> list[str] | None:
    """Return the files of a Makefile rule as absolute paths, or None if the text could be misread."""
    rule = text.replace("\\\n", " ").partition("\n\n")[0]
    _, _, names = rule.partition(": ")
    if "\\" in names or "$" in names:
        return None
    paths = [os.path.join(cwd, name) for name in dict.fromkeys(names.split())]  # noqa: PTH118
    return paths if all(os.path.isfile(path) for path in paths) else None  # noqa: PTH113


def _from_report(text: str, cwd: str) -> list[str] | None:
    """Return the files that a linker lists, one a line, or None if one of them is unknown."""
    paths = []
    for line in text.partition("\n\n")[0].splitlines()[1:]:
        name = line.strip().removesuffix("\\").rstrip()
        plain = re.sub(r"\\([ #:])", r"\1", name).replace("$$", "$")
        path = next((path for path in (os.path.join(cwd, n) for n in (name, plain)) if os.path.isfile(path)), None)  # noqa: PTH113, PTH118
        if path is not None:
            paths.append(path)
        elif not name.startswith(tempfile.gettempdir()):  # objects of link-time optimisation are gone by now
            return None
    return list(dict.fromkeys(paths))


def _from_markers(command: Sequence[str], source: str, cwd: str) -> list[str] | None:
    """Return the files that the line markers of the preprocessed source name, or None if they do not exist."""
    output = _run([*command, "-E", source])
    if output is None or output.returncode != 0:
        return None
    names = [_unquote(name) for name in dict.fromkeys(_MARKER.findall(output.stdout))]
    paths = [os.path.join(cwd, name) for name in names if not re.fullmatch(r"<.*>|.*/", name)]  # noqa: PTH118
    return paths if all(os.path.isfile(path) for path in paths) else None  # noqa: PTH113


def _unquote(name: bytes) -> str:
    def char(match: re.Match[bytes]) -> bytes:
        escape = match[1]
        return bytes([int(escape, 8)]) if escape.isdigit() else {b"n": b"\n", b"t": b"\t"}.get(escape, escape)

    return os.fsdecode(re.sub(rb"\\([0-7]{1,3}|.)", char, name))


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[bytes] | None:
    try:
        return subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"}, check=False
        )
    except OSError:
        return None
