"""Carrying out a plan: objects from sources, a shared library from objects, each from the cache if it is there."""

from __future__ import annotations

import contextlib
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from oneop._build import cache
from oneop._build.cache import Entry
from oneop._build.diagnose import describe_failure
from oneop._build.inputs.reads import compiler_reads, linker_reads
from oneop._build.jobs import Finished, Job, run_jobs
from oneop._build.lock import build_lock
from oneop._build.manifest import Reads
from oneop._build.plan import (
    Built,
    Object,
    Plan,
    Unit,
    find_inputs,
    find_linked,
    find_result,
    link_facts,
    link_manifest,
    object_of,
    unit_facts,
    unit_manifest,
)
from oneop._build.precompiled import Headers, forward_text, names_in, remove_old
from oneop._build.progress import Progress
from oneop._build.sources import Files
from oneop.errors import BuildError

#: The clock behind file times may lag by a tick; a compiler starts this long after the moment its inputs are dated by.
CLOCK_TICK_NS = 20_000_000


def make_result(plan: Plan, progress: Progress, *, force: bool = False) -> Built:
    """Return the result of the plan, built if need be; `force` compiles every source again.

    Raises `BuildError` if there is no compiler or it fails, if another process holds the build for too long, or if the
    cache cannot be written.
    """
    for compiler in (plan.linker, *(unit.compiler for unit in plan.units)):
        if compiler.problem:
            raise BuildError(compiler.problem)
    files = Files(plan.roots)
    facts = [unit_facts(plan, unit, files) for unit in plan.units]
    lock_name = f"{plan.name[:80]}-{cache.digest([plan.kind, facts])}"
    try:
        with build_lock(lock_name, plan.what, lambda owner: progress.show(f"waits for {owner}")) as work:
            built = None if force else find_result(plan)
            if built is not None:
                return built  # made by another process while this one waited
            return _Make(plan, work, progress, force).run()
    except OSError as error:
        raise cache.cannot_write(error) from None
    finally:
        progress.end()


class _Make:
    """One build, in a work folder of its own."""

    def __init__(self, plan: Plan, work: Path, progress: Progress, force: bool) -> None:
        self.plan = plan
        self.work = work
        self.progress = progress
        self.force = force
        self.files = Files(plan.roots)
        self.started = time.monotonic()
        self.finished: list[Finished] = []

    def run(self) -> Built:
        objects = self.compile()
        linked = None if self.force else find_linked(self.plan, objects, self.files)
        return linked or self.link(objects)

    def compile(self) -> list[Object]:
        """Return the objects of all units, compiling those that are not in the cache or damaged there."""
        units = self.plan.units
        known = [None if self.force else find_inputs(self.plan, unit, self.files) for unit in units]
        known = [unit if unit is not None and unit.entry.has("unit.o") else None for unit in known]
        todo = [index for index, unit in enumerate(known) if unit is None]
        self.progress.begin(len(todo), len(units))
        since_ns = _before_now()
        results = self.run_compilers({units[index]: self.work / str(index) for index in todo}, since_ns)
        for index, result in zip(todo, results, strict=True):
            if result.code == 0:  # kept even if another one failed
                known[index] = self.keep_object(units[index], self.work / str(index), result, since_ns)
        self.raise_if_failed(results)
        return [unit for unit in known if unit is not None]

    def run_compilers(self, folders: Mapping[Unit, Path], since_ns: int) -> list[Finished]:
        """Compile units, each into its folder, with precompiled headers where these help; keep new ones of those."""
        done_before, total = len(self.plan.units) - len(folders), len(self.plan.units)
        headers = Headers(self.plan)
        flags = {unit: headers.flags_of(unit) for unit in folders}
        made = {header: self.work / f"header{number}" for number, header in enumerate(headers.wanted)}
        jobs = [self.compile_job(unit, folder, flags[unit]) for unit, folder in folders.items()]
        jobs += [self.compile_job(header, folder, None, may_fail=True) for header, folder in made.items()]

        def state(done: int) -> str:
            return f"{min(done_before + done, total)}/{total}"

        finished = self.run_jobs(jobs, state)
        results = finished[: len(folders)]
        again = [unit for unit, result in zip(folders, results, strict=True) if result.code != 0]
        if any(flags[unit] is not None for unit in again):
            # Without the headers: what the compiler says of the plain source counts.
            self.finished = [result for result in self.finished if result.code == 0]
            plain = self.run_jobs([self.compile_job(unit, folders[unit], None) for unit in again], state)
            by_unit = dict(zip(again, plain, strict=True))
            results = [by_unit.get(unit, result) for unit, result in zip(folders, results, strict=True)]
        self.files.forget()
        for (header, folder), result in zip(made.items(), finished[len(folders) :], strict=True):
            if result.code == 0:
                with contextlib.suppress(OSError):  # a header that cannot be kept is missed by nobody
                    remove_old()
                    (folder / header.makes).with_suffix("").write_text(forward_text(header))
                    self.keep_object(header, folder, result, since_ns)
        return results

    def keep_object(self, unit: Unit, folder: Path, result: Finished, since_ns: int) -> Object:
        """Put a new object or header into the cache, and into the manifest which files made it."""
        facts = unit_facts(self.plan, unit, self.files)
        depfile = (folder / "unit.d").read_text(errors="surrogateescape")
        covered = (*self.plan.covered, str(cache.cache_root() / "header"))
        reads = compiler_reads(self.files, unit.compiler, unit.flags, str(unit.source), depfile, since_ns, covered)
        (folder / "unit.d").unlink()
        kept = object_of(unit, facts, reads or _unknown_reads())
        _write_record(folder, [result], [unit.command(folder)])
        known = names_in(self.files, reads) if unit.kind == "header" and reads is not None else {}
        cache.publish(folder, kept.entry, kept.inputs, {"compile_seconds": result.seconds, **known})
        if reads is not None:
            unit_manifest(unit, facts).remember(self.files, reads)
        return kept

    def link(self, objects: Sequence[Object]) -> Built:
        """Link the objects and put the result into the cache."""
        plan, folder = self.plan, self.work / "linked"
        since_ns = _before_now()
        folder.mkdir()
        report = self.link_into(folder, [str(unit.path) for unit in objects])
        self.files.forget()
        facts = link_facts(plan, objects, self.files)
        reads = linker_reads(
            self.files, plan.link_base, report, [str(unit.path) for unit in objects], since_ns, plan.covered
        )
        inputs = {**facts, **(reads or _unknown_reads()).inputs()}
        key = plan.key or cache.digest(inputs)
        entry = cache.entry_for(plan.kind, plan.name, key)
        seconds = time.monotonic() - self.started
        made_by = [unit.command(made.path.parent) for unit, made in zip(plan.units, objects, strict=True)]
        _write_record(folder, self.finished, [*made_by, self.finished[-1].job.command])
        units = [unit.inputs for unit in objects]  # in full, for `oneop cache why`
        cache.publish(folder, entry, {**inputs, "units": units}, {"build_seconds": seconds, **plan.record})
        if reads is not None:
            link_manifest(plan, facts).remember(self.files, reads)
        cache.discard(self.failed_entry())
        return Built(path=entry.path / plan.file_name, log_path=entry.path / "build.log", seconds=seconds, cached=False)

    def link_into(self, folder: Path, objects: Sequence[str]) -> str | None:
        """Link, and return the linker's report of what it read, None if it does not know how to write one."""
        plan, report = self.plan, self.work / "linked.d"
        output = ("-shared", "-o", str(folder / plan.file_name), *objects)
        base = (*plan.linker.command, *output, *plan.link_flags)
        # Not -Wl,: a comma in the path would end it.
        for extra in (("-Xlinker", f"--dependency-file={report}"), ()):
            job = Job(title="linking", command=(*base, *extra), folder=Path.cwd())
            results = self.run_jobs([job], lambda _: f"{len(plan.units)}/{len(plan.units)}")
            if not (extra and results[0].code and "dependency-file" in results[0].output):
                break
            self.finished.remove(results[0])
        self.raise_if_failed(results)
        return report.read_text(errors="surrogateescape") if report.is_file() else None

    def compile_job(self, unit: Unit, out: Path, flags: Sequence[str] | None, *, may_fail: bool = False) -> Job:
        (out / unit.makes).parent.mkdir(parents=True, exist_ok=True)
        command = unit.command(out, flags)
        return Job(title=f"compiling {unit.source.name}", command=command, folder=Path.cwd(), may_fail=may_fail)

    def run_jobs(self, jobs: Sequence[Job], state: Callable[[int], str]) -> list[Finished]:
        for job in jobs:
            self.progress.log(shlex.join(job.command))

        def show(done: int, running: Sequence[str]) -> None:
            self.progress.show(", ".join([state(done), *running[:1]]))

        results = run_jobs(jobs, show)
        for result in results:
            self.progress.log(result.output)
        self.finished += results
        return results

    def failed_entry(self) -> Entry:
        sources = [str(unit.source) for unit in self.plan.units]
        return cache.entry_for("failed", self.plan.name, cache.digest([self.plan.kind, sources]))

    def raise_if_failed(self, results: Sequence[Finished]) -> None:
        bad = next((result for result in results if result.code not in (0, None)), None)
        if bad is None:
            return
        entry, folder = self.failed_entry(), self.work / "failed"
        folder.mkdir()
        _write_record(folder, self.finished)
        cache.publish(folder, entry, {"sources": [str(unit.source) for unit in self.plan.units]})
        log = entry.path / "build.log"
        outputs = "".join(result.output for result in results if result.code not in (0, None))
        explained = self.plan.explain(outputs) if self.plan.explain is not None else None
        if explained is not None:
            raise BuildError(f"{self.plan.what}: {explained}\n  log: {log}")
        raise BuildError(describe_failure(self.plan.what, bad.job.title, bad.output, log))


def _before_now() -> int:
    """Return a moment such that every later change of a file is dated after it."""
    since_ns = time.time_ns()
    time.sleep(CLOCK_TICK_NS / 1e9)
    return since_ns


def _unknown_reads() -> Reads:
    """Return what stands for files edited while they were read: the result serves this build, and no other finds it."""
    return Reads(contents={"edited": str(time.time_ns())})


def _write_record(folder: Path, results: Sequence[Finished], commands: Sequence[Sequence[str]] = ()) -> None:
    """Write build.log, all that was said, and command.txt, how to make it: by default what was run.

    The commands of a library are those of all its objects, in the linker's order, also where an object came from the
    cache: `oneop audit --rebuild` runs them again.
    """
    (folder / "build.log").write_text("".join(_log_of(result) for result in results))
    lines = "".join(f"{shlex.join(command)}\n" for command in commands or [result.job.command for result in results])
    (folder / "command.txt").write_text(f"cd {shlex.quote(str(Path.cwd()))}\n{lines}")


def _log_of(result: Finished) -> str:
    outcome = "not run" if result.code is None else f"exit status {result.code}, {result.seconds:.2f} s"
    return f"$ {shlex.join(result.job.command)}\n{result.output}[{outcome}]\n\n"
