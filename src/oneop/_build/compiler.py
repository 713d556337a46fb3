"""Finding and identifying the C++ compiler, and the flags that op libraries get by default."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from oneop._build.cache import cache_root, digest, note_json, read_json
from oneop._build.sources import Files, stamp_of
from oneop.errors import BuildError
from oneop.settings import settings

#: What lets the compiler vectorise the plain loops of a kernel; `cflags` come later and may take it back.
OPTIMIZE_FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math")

#: For a library that stays on this machine.
NATIVE_FLAGS = {"x86_64": ("-march=native",), "aarch64": ("-mcpu=native",)}

#: The oldest versions that compile the SDK and the core.
OLDEST = {"gcc": (9,), "clang": (10,)}


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A compiler: how to call it, what it is, and a text that changes when it does."""

    command: tuple[str, ...]
    family: str  # "gcc", "clang" or "nvcc"
    version: str
    identity: str
    problem: str = ""  # why it cannot be run: it is remembered from earlier builds, and only its results are there

    @property
    def said(self) -> str:
        """Return what it says of itself, on one line."""
        return self.identity.partition("\n")[0]


def known_cxx() -> list[Compiler]:
    """Return the C++ compiler, or where there is none those whose results may be in the cache, newest first.

    Raises `BuildError` as `find_cxx` if neither is there.
    """
    try:
        return [find_cxx()]
    except BuildError as error:
        wanted = _chosen_words()
        known = [
            compiler
            for compiler in remembered(str(error))
            if compiler.family in OLDEST and (not wanted or list(compiler.command) == wanted)
        ]
        if not known:
            raise
        return known


def remembered(problem: str) -> list[Compiler]:
    """Return the compilers of earlier builds, newest first, each with why it cannot be run now."""
    folder = cache_root() / "compiler"
    notes = sorted(folder.glob("cxx-*.json"), key=lambda path: -stamp_of(str(path))[1]) if folder.is_dir() else []
    compilers = []
    for note in map(read_json, notes):
        command, identity = note.get("command"), note.get("identity")
        if isinstance(command, list) and isinstance(identity, str):
            family, version = _parse_version(identity)
            compilers.append(
                Compiler(
                    command=tuple(map(str, command)),
                    family=family,
                    version=version,
                    identity=identity,
                    problem=problem,
                )
            )
    return compilers


def find_cxx() -> Compiler:
    """Return the C++ compiler. Raises `BuildError` if there is none, if it does not run, or if it is too old."""
    command, origin = _choose_cxx()
    compiler = identify(command, origin)
    oldest = OLDEST.get(compiler.family)
    if oldest is None:
        raise BuildError(
            f"{origin}: expected g++ or clang++, found {compiler.said}\n  set CXX to one of these, as in CXX=g++"
        )
    if version_tuple(compiler.version) < oldest:
        needed = ".".join(map(str, oldest))
        raise BuildError(
            f"{origin}: {compiler.family} {compiler.version} is too old, {needed} or newer is needed\n"
            f"  install a newer one, or set CXX to it, as in CXX=g++-12"
        )
    return compiler


def identify(command: Sequence[str], origin: str) -> Compiler:
    """Return what `command` is: what it says, and the content of the programs it consists of.

    Both are kept in the cache, as long as the files of these programs stay the same. Raises `BuildError` if it cannot
    be found or run; `origin` says where the command comes from.
    """
    words = [shutil.which(word) for word in command if not word.startswith("-")]
    if not words or words[0] is None:
        raise BuildError(f"{origin}: {command[0] if command else '(empty)'} is not there or cannot be run")
    # A driver looks for its programs in these places, and on PATH.
    places = [os.environ.get(name) for name in ("COMPILER_PATH", "GCC_EXEC_PREFIX")]
    tools = [shutil.which(name) for name in ("as", "ld")]
    note = cache_root() / "compiler" / f"cxx-{digest([command, words, places, tools])}.json"
    known = read_json(note)
    identity, programs = known.get("identity"), known.get("programs")
    if not isinstance(identity, str) or not isinstance(programs, dict) or not _unchanged(programs):
        text = _ask_version(command, origin)
        paths = [*words, *_ask_programs(command, text)]
        files = Files()  # it remembers what this process has read: cc1plus has 30 MB
        programs = {path: (files.stamp(path), files.sha(path)) for path in paths if path is not None}
        identity = f"{text}\nprograms: {digest([sha for _, sha in programs.values()])}"
        note_json(note, {"command": list(command), "identity": identity, "programs": programs})
    family, version = _parse_version(identity)
    return Compiler(command=tuple(command), family=family, version=version, identity=identity)


def split_words(text: str, origin: str) -> list[str]:
    """Return the words of a setting that holds flags. Raises `BuildError` if a quote is not closed."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise BuildError(f"{origin}={text}: {str(error).lower()}\n  each quote needs its partner") from None


def default_flags(compiler: Compiler, *, portable: bool = False) -> tuple[str, ...]:
    """Return the flags every C++ source of an op library gets first.

    Unless it is to be `portable`, a library is compiled for the processor at hand: plain loops reach their full vector
    width only then.
    """
    native = () if portable else NATIVE_FLAGS.get(platform.machine(), ())
    unique = ("-fno-gnu-unique",) if compiler.family == "gcc" else ()  # else dlclose never unloads the library
    return (
        "-std=c++17",
        *OPTIMIZE_FLAGS,
        *native,
        "-fPIC",
        "-fvisibility=hidden",
        *unique,
        "-fdiagnostics-color=never",
    )


def version_tuple(text: str) -> tuple[int, ...]:
    """Return "12.2.0" as (12, 2, 0)."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _choose_cxx() -> tuple[list[str], str]:
    if settings.cxx:
        return split_words(settings.cxx, "CXX"), f"CXX={settings.cxx}"
    if settings.cc:
        sibling = _sibling_of(settings.cc)
        if shutil.which(sibling[0]) is None:
            raise BuildError(
                f"CC={settings.cc}: its C++ compiler {sibling[0]} is not there\n"
                f"  set CXX to a C++ compiler, as in CXX=g++"
            )
        return sibling, f"CC={settings.cc}"
    for name in ("g++", "clang++", "c++"):
        if shutil.which(name):
            return [name], name
    raise BuildError(
        "no C++ compiler: none of g++, clang++ and c++ is on PATH\n"
        "  install one (Debian: apt install g++, conda: conda install cxx-compiler), or set CXX to its path"
    )


def _chosen_words() -> list[str]:
    return split_words(settings.cxx, "CXX") if settings.cxx else _sibling_of(settings.cc) if settings.cc else []


def _sibling_of(cc: str) -> list[str]:
    words = split_words(cc, "CC") or [""]
    folder, name = os.path.split(words[-1])
    for pattern, replacement in ((r"clang(?!\+)", "clang++"), (r"gcc|g\+\+", "g++"), (r"^cc$", "c++")):
        renamed, count = re.subn(pattern, replacement, name, count=1)
        if count:
            name = renamed
            break
    return [*words[:-1], os.path.join(folder, name)]  # noqa: PTH118 (a bare name must stay one)


def _unchanged(programs: dict[str, object]) -> bool:
    return all(
        isinstance(row, list) and len(row) == 2 and list(stamp_of(path)) == row[0] for path, row in programs.items()
    )


def _ask_programs(command: Sequence[str], version: str) -> list[str]:
    """Return the programs that a driver such as g++ runs."""
    if _parse_version(version)[0] not in OLDEST:
        return []
    paths = []
    for name in ("cc1plus", "collect2", "as", "ld"):
        try:
            answer = subprocess.run(
                [*command, f"-print-prog-name={name}"], capture_output=True, text=True, timeout=60, check=False
            ).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            continue
        path = shutil.which(answer) if answer else None
        if path is not None:
            paths.append(path)
    return paths


def _ask_version(command: Sequence[str], origin: str) -> str:
    try:
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{origin}: `{shlex.join(command)} --version` does not run: {error}") from None
    if result.returncode != 0:
        complaint = (result.stderr or result.stdout).strip().partition("\n")[0]
        raise BuildError(f"{origin}: `{shlex.join(command)} --version` failed: {complaint}")
    # "Target:" matters and "InstalledDir:" does not, but both are cheap; licence text is dropped.
    return "\n".join(line.strip() for line in result.stdout.strip().splitlines()[:5] if "opyright" not in line)


def _parse_version(text: str) -> tuple[str, str]:
    for family, pattern in (
        ("nvcc", r"release [\d.]+, V([\d.]+)"),
        ("clang", r"clang version ([\d.]+)"),
        ("gcc", r"(?:g\+\+|gcc|c\+\+)\S* .*?(\d+\.\d+(?:\.\d+)?)\s*(?:\d{8}.*)?$"),
    ):
        match = re.search(pattern, text, re.MULTILINE)
        if match:
            return family, match[1]
    return "unknown", "0"
