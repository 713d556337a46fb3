"""Compiling each file of a checkout or folder alone, and saying what became of it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oneop.errors import BuildError
from oneop.port.checkout import Sources, sources_of
from oneop.port.cuda import nvcc_command
from oneop.port.precompiled import WORTH_PRECOMPILING, precompile
from oneop.port.reading import missing_in, warnings_in
from oneop.port.scope import reason_to_leave_out

#: Verdicts, best first.
BUILDS, WARNS, NEEDS, OUT = "builds", "builds with warnings", "needs", "out of scope"

#: Longer than any file takes on a slow machine.
TIMEOUT_SECONDS = 600


@dataclass(frozen=True, kw_only=True)
class FileReport:
    """What became of one file: its verdict, what it needs or why it is out of scope, and the compiler's first words."""

    file: str
    group: str
    verdict: str
    what: str = ""
    text: str = ""
    where: str = ""


@dataclass(kw_only=True)
class Survey:
    """All files, in order, and what could not be made for them."""

    root: str
    files: list[FileReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, Counter[str]]:
        """Return {group: {verdict: files}}."""
        table: dict[str, Counter[str]] = {}
        for report in self.files:
            table.setdefault(report.group, Counter())[report.verdict] += 1
        return table

    def needed(self) -> list[tuple[str, int]]:
        """Return what is missing first and in how many files, most frequent first."""
        return Counter(report.what for report in self.files if report.verdict == NEEDS).most_common()

    def left_out(self) -> list[tuple[str, int]]:
        """Return the reasons for which files are out of scope, most frequent first."""
        return Counter(report.what for report in self.files if report.verdict == OUT).most_common()

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {
            "root": self.root,
            "notes": self.notes,
            "counts": {group: dict(counts) for group, counts in self.counts().items()},
            "needed": dict(self.needed()),
            "out_of_scope": dict(self.left_out()),
            "files": [asdict(report) for report in self.files],
        }


def survey(
    path: Path,
    *,
    groups: Sequence[str] = (),
    include_dirs: Sequence[Path] = (),
    only: Collection[str] | None = None,
    jobs: int = 0,
    progress: Callable[[int, int, FileReport], None] | None = None,
) -> Survey:
    """Compile each source below `path` alone, without keeping anything.

    Args:
        path: a OneFlow checkout, a folder of sources, or one source.
        groups: groups of a checkout: ops, kernels, gradients, functors, cuda. All but cuda by default.
        include_dirs: searched for headers after the SDK.
        only: files to look at, relative to the checkout. All by default.
        jobs: compilers run at once; 0 for one on each core.
        progress: called after each file with the number done, the number of all, and its report.

    Raises:
        ArgumentError: there is nothing to compile.
        BuildError: there is no compiler.
    """
    with sources_of(path, groups, include_dirs) as sources, tempfile.TemporaryDirectory() as folder:
        result = Survey(root=str(sources.root), notes=sources.notes)
        todo = [item for item in _files(sources) if only is None or item[1] in only]
        commands = _commands(sources, [group for group, _ in todo], Path(folder))
        with ThreadPoolExecutor(max_workers=jobs if jobs > 0 else cores()) as pool:
            reports = pool.map(lambda item: _look_at(commands, sources.root, *item), todo)
            for report in reports:
                result.files.append(report)
                if progress is not None:
                    progress(len(result.files), len(todo), report)
    return result


def cores() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def _commands(sources: Sources, groups: Sequence[str], folder: Path) -> dict[bool, list[str] | BuildError]:
    """Return what compiles a source, for CUDA sources and for others; only of kinds that are there."""
    from oneop._build.compiler import find_cxx
    from oneop.sysconfig import get_compile_flags

    includes = [f"-I{folder}" for folder in sources.include_dirs]
    flags = [*get_compile_flags(), *includes, f"-DONEOP_PORT={sources.generation}"]
    commands: dict[bool, list[str] | BuildError] = {}
    for_cxx = sum(group != "cuda" for group in groups)
    if for_cxx:
        compiler = find_cxx().command
        flags_cxx = [*flags, "-fdiagnostics-color=never"]
        precompiled = precompile(compiler, flags_cxx, folder) if for_cxx >= WORTH_PRECOMPILING else []
        commands[False] = [*compiler, *precompiled, *flags_cxx, "-fsyntax-only"]
    if for_cxx < len(groups):
        try:
            commands[True] = nvcc_command(flags)
        except BuildError as error:
            commands[True] = error
    return commands


def _files(sources: Sources) -> Iterator[tuple[str, str]]:
    for group, files in sources.groups.items():
        for file in files:
            yield group, str(file.relative_to(sources.root))


def _look_at(commands: Mapping[bool, list[str] | BuildError], root: Path, group: str, name: str) -> FileReport:
    path = root / name
    reason = reason_to_leave_out(f"/{name}", path.read_text(errors="replace"))
    if reason is not None:
        return FileReport(file=name, group=group, verdict=OUT, what=reason)
    command = commands[group == "cuda"]
    if isinstance(command, BuildError):
        return FileReport(file=name, group=group, verdict=NEEDS, what="nvcc", text=str(command).partition("\n")[0])
    try:
        done = subprocess.run(
            [*command, str(path)],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},  # messages are parsed
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return FileReport(file=name, group=group, verdict=NEEDS, what=f"more than {TIMEOUT_SECONDS} s to compile")
    if done.returncode == 0:
        warnings = warnings_in(done.stderr)
        verdict = WARNS if warnings else BUILDS
        return FileReport(file=name, group=group, verdict=verdict, text=warnings[0] if warnings else "")
    what, text, where = missing_in(done.stderr + done.stdout)  # nvcc says some of it on the one, some on the other
    return FileReport(file=name, group=group, verdict=NEEDS, what=what, text=text, where=where)
