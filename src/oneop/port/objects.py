"""Sources of a checkout compiled apart, and as many of them as fit together linked into one library."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from oneop.errors import BuildError
from oneop.sysconfig import get_compile_flags, get_include

_OWN = re.compile(r"\boneflow::")


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """One object: what it defines, and what it needs of others; both as C++ names."""

    path: Path
    defines: frozenset[str]
    needs: frozenset[str]


@dataclass(kw_only=True)
class Objects:
    """What was compiled, and the files that were not, with the compiler's words."""

    compiled: list[Compiled] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def that_fit(self) -> list[Compiled]:
        """Return the objects whose needs are met by others of them; what the rest need is not there."""
        kept = list(self.compiled)
        while True:
            defined = frozenset[str]().union(*(compiled.defines for compiled in kept))
            fitting = [compiled for compiled in kept if compiled.needs <= defined]
            if len(fitting) == len(kept):
                return kept
            kept = fitting


def compile_all(
    files: Mapping[str, Path],
    folder: Path,
    compiler: Sequence[str],
    flags: Sequence[str],
    *,
    jobs: int,
    progress: Callable[[int, int, str], None] | None = None,
) -> Objects:
    """Compile files, by names for their objects; one that is newer than its source is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = Objects()

    def one_file(item: tuple[str, Path]) -> tuple[str, Compiled | str]:
        name, source = item
        target = folder / f"{name}.o"
        return name, _compile(source, target, compiler, flags) or _look_into(target)

    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        for number, (name, made) in enumerate(pool.map(one_file, files.items()), start=1):
            if isinstance(made, str):
                objects.failed[name] = made
            else:
                objects.compiled.append(made)
            if progress is not None:
                progress(number, len(files), name)
    return objects


def _compile(source: Path, target: Path, compiler: Sequence[str], flags: Sequence[str]) -> str:
    """Compile a file; return what the compiler says against it."""
    if target.is_file() and target.stat().st_mtime > source.stat().st_mtime:
        return ""
    work = target.with_suffix(".part")
    command = [*compiler, *flags, "-fPIC", "-w", "-c", str(source), "-o", str(work)]
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", env={**os.environ, "LC_ALL": "C"}, check=False
    )
    if done.returncode != 0:
        return done.stderr or "the compiler said nothing"
    work.replace(target)
    return ""


def _look_into(path: Path) -> Compiled:
    """Return what an object defines and needs."""
    done = subprocess.run(["nm", "-C", str(path)], capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        raise BuildError(f"nm cannot read {path}: {done.stderr.strip()}")
    defines, needs = set(), set()
    for line in done.stdout.splitlines():
        kind, _, name = line[17:].partition(" ")
        if kind == "U" and _OWN.search(name):
            needs.add(name)
        elif kind in "TWVDBRSu":
            defines.add(name)
    return Compiled(path=path, defines=frozenset(defines), needs=frozenset(needs - defines))


def link(objects: Iterable[Path], target: Path, compiler: Sequence[str]) -> Path:
    """Link objects into an op library. Raises `BuildError` with the linker's words."""
    exports = f"--version-script={get_include()}/oneop/exports.map"
    listing = target.with_suffix(".objects")
    listing.write_text("\n".join(f'"{path}"' for path in objects))
    command = [
        *compiler,
        "-shared",
        f"@{listing}",
        "-o",
        str(target),
        "-Wl,-z,defs",
        "-Wl,--gc-sections",
        "-Xlinker",
        exports,
    ]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode != 0:
        raise BuildError(f"the objects of {target.name} do not link:\n{done.stderr.strip()[-2000:]}")
    return target


def flags_for(include_dirs: Sequence[Path], generation: int) -> list[str]:
    """Return the flags for a checkout's sources: little is optimised, because what counts here is what they compute."""
    includes = [f"-I{folder}" for folder in include_dirs]
    return [*get_compile_flags(), "-O1", "-fvisibility=hidden", *includes, f"-DONEOP_PORT={generation}"]
