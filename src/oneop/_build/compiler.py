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
from pathlib import Path

from oneop._build.cache import cache_root, digest, read_json, write_json
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
    """A compiler that is there: how to call it, what it is, and a text that changes when it does."""

    command: tuple[str, ...]
    family: str  # "gcc", "clang" or "nvcc"
    version: str
    identity: str


def find_cxx() -> Compiler:
    """Return the C++ compiler. Raises `BuildError` if there is none, if it does not run, or if it is too old."""
    command, origin = _choose_cxx()
    compiler = identify(command, origin)
    oldest = OLDEST.get(compiler.family)
    if oldest is None:
        raise BuildError(
            f"{origin}: expected g++ or clang++, found {compiler.identity}\n  set CXX to one of these, as in CXX=g++"
        )
    if version_tuple(compiler.version) < oldest:
        needed = ".".join(map(str, oldest))
        raise BuildError(
            f"{origin}: {compiler.family} {compiler.version} is too old, {needed} or newer is needed\n"
            f"  install a newer one, or set CXX to it, as in CXX=g++-12"
        )
    return compiler


def identify(command: Sequence[str], origin: str) -> Compiler:
    """Return what `command` is. Its answer to --version is kept in the cache, as long as its file stays the same.

    Raises `BuildError` if it cannot be found or run; `origin` says where the command comes from.
    """
    programs = [shutil.which(word) for word in command if not word.startswith("-")]
    if not programs or programs[0] is None:
        raise BuildError(f"{origin}: {command[0] if command else '(empty)'} is not there or cannot be run")
    stamp = [(path, *_stat(path)) for path in programs if path is not None]
    note = cache_root() / "compiler" / f"{digest([command, stamp])}.json"
    text = read_json(note).get("version")
    if not isinstance(text, str):
        text = _ask_version(command, origin)
        write_json(note, {"command": command, "version": text})
    family, version = _parse_version(text)
    return Compiler(command=tuple(command), family=family, version=version, identity=text)


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
        return shlex.split(settings.cxx), f"CXX={settings.cxx}"
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


def _sibling_of(cc: str) -> list[str]:
    words = shlex.split(cc)
    folder, name = os.path.split(words[-1])
    for pattern, replacement in ((r"clang(?!\+)", "clang++"), (r"gcc|g\+\+", "g++"), (r"^cc$", "c++")):
        renamed, count = re.subn(pattern, replacement, name, count=1)
        if count:
            name = renamed
            break
    return [*words[:-1], os.path.join(folder, name)]  # noqa: PTH118 (a bare name must stay one)


def _stat(path: str) -> tuple[int, int]:
    stat = Path(path).stat()
    return stat.st_mtime_ns, stat.st_size


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
