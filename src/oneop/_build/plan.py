"""Carrying out a build: objects from sources, a shared library from objects, each taken from the cache if it is there."""

from __future__ import annotations

import os
import platform
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oneop._build import cache
from oneop._build.cache import Entry
from oneop._build.compiler import Compiler
from oneop._build.diagnose import describe_failure
from oneop._build.jobs import Finished, Job, run_jobs
from oneop._build.lock import build_lock
from oneop._build.progress import Progress
from oneop._build.sources import Files, Manifest, contents_of, manifest_for, read_depfile
from oneop.errors import BuildError

#: The clock behind file times may lag by a tick; a compiler starts this long after the moment its inputs are dated by.
CLOCK_TICK_NS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One source, and how it is compiled."""

    source: Path
    compiler: Compiler
    flags: tuple[str, ...]

    def command(self, out: Path) -> tuple[str, ...]:
        """Return the command that writes `out`/<stem>.o and .d."""
        stem = out / self.source.stem
        outputs = ("-MMD", "-MF", f"{stem}.d", "-o", f"{stem}.o")
        return (*self.compiler.command, *self.flags, "-c", str(self.source), *outputs)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides what a build makes."""

    kind: str
    name: str
    file_name: str
    units: tuple[Unit, ...]
    linker: Compiler
    link_flags: tuple[str, ...]
    facts: Mapping[str, object] = field(default_factory=dict)
    roots: Mapping[str, Path] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """Return how messages name it."""
        return f'{self.kind} "{self.name}"'


@dataclass(frozen=True, kw_only=True)
class Built:
    """The result of a plan."""

    path: Path
    log_path: Path
    seconds: float
    cached: bool


@dataclass(frozen=True)
class _Object:
    """A unit whose object is in the cache, and the inputs of its key."""

    entry: Entry
    inputs: Mapping[str, object]


def find_result(plan: Plan) -> Built | None:
    """Return the result of the plan if the cache has it, else None. Starts no process and takes no lock."""
    files = Files(plan.roots)
    objects = [_find_object(plan, unit, files) for unit in plan.units]
    found = [one for one in objects if one is not None]
    if len(found) < len(objects):
        return None
    return _find_linked(plan, found, files)


def make_result(plan: Plan, progress: Progress, *, force: bool = False) -> Built:
    """Return the result of the plan, built if need be; `force` compiles every source again.

    Raises `BuildError` if a compiler fails or if another process holds the build for too long.
    """
    started = time.monotonic()
    lock_name = (
        f"{plan.name}-{cache.digest([plan.kind, *(_unit_facts(plan, unit, Files(plan.roots)) for unit in plan.units)])}"
    )
    try:
        with build_lock(lock_name, plan.what, lambda owner: progress.show(f"waits for {owner}")) as work:
            built = None if force else find_result(plan)
            if built is not None:
                return built  # made by another process while this one waited
            progress.begin()
            return _make(plan, work, progress, started, force)
    finally:
        progress.end()


def _make(plan: Plan, work: Path, progress: Progress, started: float, force: bool) -> Built:
    files = Files(plan.roots)
    objects = [None if force else _find_object(plan, unit, files) for unit in plan.units]
    todo = [index for index, one in enumerate(objects) if one is None]
    total = len(plan.units)

    # 1. Compile what is not in the cache.
    since_ns = time.time_ns()
    time.sleep(CLOCK_TICK_NS / 1e9)
    jobs = [_compile_job(plan.units[index], work / str(index)) for index in todo]
    for job in jobs:
        progress.log(shlex.join(job.command))
    results = run_jobs(jobs, lambda done: progress.show(f"{total - len(todo) + done}/{total}"))
    for result in results:
        progress.log(result.output)
    log = "".join(_log_of(result) for result in results)
    _raise_if_failed(plan, results, work, log)

    # 2. Put the new objects into the cache.
    files.forget()
    for index, result in zip(todo, results, strict=True):
        objects[index] = _keep_object(plan, plan.units[index], files, since_ns, result)
    ready = [one for one in objects if one is not None]

    # 3. Link, unless these very objects were linked before.
    known = None if force else _find_linked(plan, ready, files)
    if known is not None:
        return known
    folder = work / "linked"
    folder.mkdir()
    paths = [str(one.entry.path / f"{unit.source.stem}.o") for unit, one in zip(plan.units, ready, strict=True)]
    output = ("-o", str(folder / plan.file_name))
    job = Job(
        title="linking", command=(*plan.linker.command, "-shared", *output, *paths, *plan.link_flags), folder=Path.cwd()
    )
    progress.log(shlex.join(job.command))
    [linked] = run_jobs([job], lambda _: progress.show("linking"))
    progress.log(linked.output)
    log += _log_of(linked)
    _raise_if_failed(plan, [linked], work, log)

    # 4. Publish.
    inputs = _link_inputs(plan, ready, files)
    entry = cache.entry_for(plan.kind, plan.name, cache.digest(inputs))
    seconds = time.monotonic() - started
    _write_record(folder, log, [result.job for result in (*results, linked)])
    if force:
        cache.discard(entry)
    cache.publish(folder, entry, inputs, {"build_seconds": seconds, "result": plan.file_name})
    cache.discard(_failed_entry(plan))
    return Built(path=entry.path / plan.file_name, log_path=entry.path / "build.log", seconds=seconds, cached=False)


def _find_object(plan: Plan, unit: Unit, files: Files) -> _Object | None:
    facts = _unit_facts(plan, unit, files)
    contents = _manifest(unit, facts).find(files)
    if contents is None:
        return None
    inputs = {**facts, "contents": contents}
    entry = cache.entry_for("object", unit.source.stem, cache.digest(inputs))
    return _Object(entry, inputs) if (entry.path / f"{unit.source.stem}.o").is_file() else None


def _find_linked(plan: Plan, objects: Sequence[_Object], files: Files) -> Built | None:
    entry = cache.entry_for(plan.kind, plan.name, cache.digest(_link_inputs(plan, objects, files)))
    path = entry.path / plan.file_name
    if not path.is_file():
        return None
    seconds = entry.meta().get("build_seconds")
    return Built(
        path=path,
        log_path=entry.path / "build.log",
        seconds=seconds if isinstance(seconds, float) else 0.0,
        cached=True,
    )


def _keep_object(plan: Plan, unit: Unit, files: Files, since_ns: int, result: Finished) -> _Object:
    folder = Path(result.job.command[-1]).parent
    stem = unit.source.stem
    depfile = folder / f"{stem}.d"
    reached = read_depfile(depfile.read_text(errors="surrogateescape"), result.job.folder)
    depfile.unlink()
    contents = contents_of(files, reached, since_ns)
    facts = _unit_facts(plan, unit, files)
    inputs: dict[str, object] = {**facts, "contents": contents}
    if contents is None:  # edited while it was compiled: good for this build only
        inputs["contents"] = {"edited": str(time.time_ns())}
    entry = cache.entry_for("object", stem, cache.digest(inputs))
    _write_record(folder, _log_of(result), [result.job])
    cache.discard(entry)
    cache.publish(folder, entry, inputs, {"compile_seconds": result.seconds})
    if contents is not None:
        _manifest(unit, facts).remember(files, contents)
    return _Object(entry, inputs)


def _unit_facts(plan: Plan, unit: Unit, files: Files) -> dict[str, object]:
    return {
        "source": files.encode(str(unit.source)),
        "compiler": unit.compiler.identity,
        "flags": [files.encode(flag) for flag in unit.flags],
        "machine": _machine(unit.flags),
        **plan.facts,
    }


def _link_inputs(plan: Plan, objects: Sequence[_Object], files: Files) -> dict[str, object]:
    return {
        "name": plan.name,
        "linker": plan.linker.identity,
        "link_flags": [files.encode(flag) for flag in plan.link_flags],
        "objects": [one.inputs for one in objects],
    }


def _machine(flags: Sequence[str]) -> str:
    """Return the architecture; with -march=native also the processor, since a cache may be shared by several machines."""
    if not any(flag in ("-march=native", "-mcpu=native") for flag in flags):
        return platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:
        return f"{platform.machine()} {platform.node()}"
    return cache.digest([line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))])


def _manifest(unit: Unit, facts: Mapping[str, object]) -> Manifest:
    return manifest_for(unit.source.stem, facts)


def _compile_job(unit: Unit, out: Path) -> Job:
    out.mkdir()
    return Job(title=f"compiling {unit.source.name}", command=unit.command(out), folder=Path.cwd())


def _log_of(result: Finished) -> str:
    outcome = "not run" if result.code is None else f"exit status {result.code}, {result.seconds:.2f} s"
    return f"$ {shlex.join(result.job.command)}\n{result.output}[{outcome}]\n\n"


def _write_record(folder: Path, log: str, jobs: Sequence[Job]) -> None:
    (folder / "build.log").write_text(log)
    commands = "".join(f"{shlex.join(job.command)}\n" for job in jobs)
    (folder / "command.txt").write_text(f"cd {shlex.quote(os.getcwd())}\n{commands}")  # noqa: PTH109


def _failed_entry(plan: Plan) -> Entry:
    sources = [str(unit.source) for unit in plan.units]
    return cache.entry_for("failed", plan.name, cache.digest([plan.kind, sources]))


def _raise_if_failed(plan: Plan, results: Sequence[Finished], work: Path, log: str) -> None:
    bad = next((result for result in results if result.code not in (0, None)), None)
    if bad is None:
        return
    entry = _failed_entry(plan)
    folder = work / "failed"
    folder.mkdir()
    _write_record(folder, log, [result.job for result in results])
    cache.publish(folder, entry, {"sources": [str(unit.source) for unit in plan.units]})
    message = describe_failure(plan.what, bad.job.title, bad.output, entry.path / "build.log")
    raise BuildError(message)
