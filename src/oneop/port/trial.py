"""OneFlow's own ops, built from a checkout into one library, each checked against its torch reference."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.errors import ArgumentError, LoadError
from oneop.port.checkout import Sources, definitions_of, is_checkout, sources_of_checkout, write_if_changed
from oneop.port.objects import Compiled, compile_all, flags_for, link
from oneop.port.precompiled import WORTH_PRECOMPILING, precompile
from oneop.port.scope import reason_to_leave_out

if TYPE_CHECKING:
    from oneop.ods.ops import OdsOp

GROUPS = ("ops", "kernels")
#: What is checked of each op: that its kernels stay in their memory, and that results and gradients are torch's.
FAMILIES = ("memory", "inference", "reference", "gradient")
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
    jobs: int = 2,
    progress: Progress | None = None,
) -> Trial:
    """Compile the ops and kernels of a checkout, those that are in scope, and link what fits together.

    Args:
        root: the checkout.
        work: a folder for objects and the library; objects in it that are newer than their sources are used again.
        only: tells for a file whether it is wanted. All by default.
        jobs: compilers run at once.
        progress: called after each file.

    Raises:
        ArgumentError: it is no checkout.
        BuildError: there is no compiler, or the library does not link.
    """
    from oneop._build.compiler import find_cxx

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
    trial: Trial, names: Iterable[str] = (), *, examples: int = 12, progress: Progress | None = None
) -> list[OpReport]:
    """Check the ops that have a reference, in processes of their own; return and keep the reports.

    A process goes on with the next op until one ends it; another one goes on after that.
    """
    todo: list[str] | None = list(names) or None
    total = 0
    while True:
        command = [sys.executable, "-m", "oneop.port.check_ops", str(trial.library), str(examples), *(todo or ())]
        left: list[str] | None = None  # until the process says what it will check
        with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
            assert process.stdout is not None
            for row in (json.loads(line) for line in process.stdout if line.startswith("{")):
                if left is None:
                    left = list(row["todo"])
                    total = total or len(left)
                else:
                    trial.reports.append(OpReport(**row))
                    left = left[1:]
                    if progress is not None:
                        progress(total - len(left), total, row["op"])
        if left is None:
            raise LoadError(f"the library of {trial.root} does not load; what is wrong stands above")
        if not left:
            return trial.reports
        trial.reports.append(OpReport(op=left[0], verdict=ENDED, text=f"exit status {process.returncode}"))
        todo = left[1:]
        if not todo:
            return trial.reports
