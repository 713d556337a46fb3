"""OneFlow's own ops, built from a checkout into one library, each checked against its torch reference."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.errors import ArgumentError, LoadError
from oneop.port.checkout import Sources, definitions_of, is_checkout, sources_of_checkout, write_if_changed
from oneop.port.objects import Compiled, compile_all, flags_for, link
from oneop.port.precompiled import WORTH_PRECOMPILING, precompile
from oneop.port.scope import reason_to_leave_out
from oneop.port.survey import cores

if TYPE_CHECKING:
    from oneop.ods.ops import OdsOp

GROUPS = ("ops", "kernels")
#: What is checked of each op: that its kernels stay in their memory, and that results and gradients are torch's.
FAMILIES = ("memory", "inference", "reference", "gradient")
CHECK_MODULE = "oneop.port.check_ops"
#: Longer than any op takes on a slow machine, for a check that does not end.
CHECK_SECONDS = 240
#: Verdicts, best first. Of a faulty op it is known in what OneFlow's own source is wrong; the rest of it is right.
RIGHT, FAULTY, UNTRIED, WRONG, ENDED = "right", "right but for", "not tried", "wrong", "ended the process"


@dataclass(frozen=True, kw_only=True)
class OpReport:
    """What became of one op: the verdict, that of each family, and the first words of a failure."""

    op: str
    verdict: str
    families: dict[str, str] = field(default_factory=dict)
    calls: int = 0
    text: str = ""


@dataclass(kw_only=True)
class Trial:
    """The library of a checkout's ops, and what the checks said."""

    root: str
    library: Path
    ops: list[str]
    files: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    reports: list[OpReport] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return {**asdict(self), "library": str(self.library)}


Progress = Callable[[int, int, str], None]


def build_library(
    root: Path,
    work: Path,
    *,
    only: Callable[[str], bool] | None = None,
    jobs: int = 0,
    progress: Progress | None = None,
) -> Trial:
    """Compile the ops and kernels of a checkout, those that are in scope, and link what fits together.

    Args:
        root: the checkout.
        work: a folder for objects and the library; objects in it that are newer than their sources are used again.
        only: tells for a file whether it is wanted. All by default.
        jobs: compilers run at once; 0 for one on each core.
        progress: called after each file.

    Raises:
        ArgumentError: it is no checkout.
        BuildError: there is no compiler, or the library does not link.
    """
    from oneop._build.compiler import find_cxx

    jobs = jobs if jobs > 0 else cores()
    if not is_checkout(root):
        raise ArgumentError(f"{root} is no checkout of OneFlow: it has no folder oneflow/user")
    root, work = root.resolve(), work.resolve()
    sources = sources_of_checkout(root, GROUPS, (), work)
    flags = flags_for(sources.include_dirs, sources.generation)
    compiler = find_cxx().command
    header = work / "precompiled"
    chosen = {name: path for name, path in _in_scope(sources) if only is None or only(name)}
    before = [f"-I{header}"] if header.is_dir() else []
    if not before and len(chosen) >= WORTH_PRECOMPILING:
        before = precompile(compiler, ["-fPIC", *flags], header)
    objects = compile_all(chosen, work / "objects", compiler, [*before, *flags], jobs=jobs, progress=progress)
    kept = objects.that_fit()
    definitions = complete_ops(definitions_of(root), kept)
    extra = _registrations(definitions, work)
    made = compile_all(extra, work / "registrations", compiler, flags, jobs=jobs)
    target = work / f"oneflow_{root.name.replace('.', '_')}.so"
    link([compiled.path for compiled in (*kept, *made.compiled)], target, compiler)
    left = sorted({compiled.path.stem for compiled in objects.compiled} - {compiled.path.stem for compiled in kept})
    names = [op.name for op in definitions]
    return Trial(root=str(root), library=target, ops=names, files=len(kept), failed=objects.failed, left=left)


def _in_scope(sources: Sources) -> Iterable[tuple[str, Path]]:
    """Yield the files to compile, with names for their objects."""
    for files in sources.groups.values():
        for path in files:
            name = str(path.relative_to(sources.root))
            if reason_to_leave_out(f"/{name}", path.read_text(errors="replace")) is None:
                yield name.removeprefix("oneflow/").removesuffix(path.suffix).replace("/", "_"), path


def complete_ops(ops: Sequence[OdsOp], objects: Sequence[Compiled]) -> list[OdsOp]:
    """Return the ops whose functions are all there, and that need no library of NVIDIA's."""
    from oneop.ods.flags import FLAGS

    defined = {name.partition("(")[0] for compiled in objects for name in compiled.defines}
    return [
        op
        for op in ops
        if not re.search(r"cudnn|cublas|nccl", op.name)
        and op.flags
        and all(f"oneflow::{op.cpp_class}::{FLAGS[flag].function}" in defined for flag in op.flags)
    ]


def _registrations(ops: Sequence[OdsOp], work: Path) -> dict[str, Path]:
    """Write the registrations of these ops; return the sources, by names for their objects."""
    from oneop.ods.cpp import HEADER, generate_cpp

    sources = {}
    for name, text in generate_cpp(ops).items() if ops else ():
        if name != HEADER:
            path = work / "registrations" / name
            write_if_changed(path, text)
            sources[path.stem] = path
    return sources


def check_ops(
    trial: Trial,
    names: Iterable[str] = (),
    *,
    examples: int = 12,
    jobs: int = 0,
    batch: int = 8,
    progress: Progress | None = None,
) -> list[OpReport]:
    """Check the ops that have a reference, in processes of their own; return and keep the reports, in order of names.

    Args:
        trial: its library is loaded by each of the processes.
        names: the ops. All that have a reference by default.
        examples: calls that a family of checks tries.
        jobs: processes at once; 0 for one on each core.
        batch: ops that a process checks, one after the other. Each has a process of its own if it is 1.
        progress: called after each op.

    Raises:
        LoadError: the library does not load.
    """
    command = [sys.executable, "-m", CHECK_MODULE, str(trial.library), str(examples)]
    asked = subprocess.run([*command, "--list", *names], stdout=subprocess.PIPE, encoding="utf-8", check=False)
    rows = _rows(asked.stdout.splitlines())
    if not rows:
        raise LoadError(f"the library of {trial.root} does not load; what is wrong stands above")
    todo: list[str] = rows[0]["todo"]
    size = max(1, batch)
    parts = [todo[first : first + size] for first in range(0, len(todo), size)]
    done = 0
    with ThreadPoolExecutor(max_workers=jobs if jobs > 0 else cores()) as pool:
        for running in as_completed([pool.submit(_check_apart, command, part) for part in parts]):
            for report in running.result():
                done += 1
                trial.reports.append(report)
                if progress is not None:
                    progress(done, len(todo), report.op)
    trial.reports.sort(key=lambda report: report.op)
    return trial.reports


def _check_apart(command: Sequence[str], names: Sequence[str]) -> list[OpReport]:
    """Check some ops in a process. Where one ends it, another process goes on with the next."""
    reports: list[OpReport] = []
    while len(reports) < len(names):
        left = names[len(reports) :]
        limit = CHECK_SECONDS * len(left)
        try:
            ran = subprocess.run([*command, *left], stdout=subprocess.PIPE, timeout=limit, check=False)
            output, why = ran.stdout, f"exit status {ran.returncode}"
        except subprocess.TimeoutExpired as error:
            output, why = error.stdout or b"", f"more than {limit} s"
        reports += [OpReport(**row) for row in _rows(output.decode().splitlines())]
        if len(reports) < len(names):
            reports.append(OpReport(op=names[len(reports)], verdict=ENDED, text=why))
    return reports


def _rows(lines: Iterable[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines if line.startswith("{")]
