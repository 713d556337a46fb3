"""Carrying out a plan: objects from sources, a shared library from objects, each from the cache if it is there."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from oneop._build import cache
from oneop._build.cache import Entry
from oneop._build.diagnose import describe_failure
from oneop._build.jobs import Finished, Job, run_jobs
from oneop._build.lock import build_lock
from oneop._build.plan import Built, Object, Plan, Unit, find_linked, find_object, find_result, link_inputs, unit_facts
from oneop._build.progress import Progress
from oneop._build.sources import Files, contents_of, manifest_for, read_depfile
from oneop.errors import BuildError

#: The clock behind file times may lag by a tick; a compiler starts this long after the moment its inputs are dated by.
CLOCK_TICK_NS = 20_000_000


def make_result(plan: Plan, progress: Progress, *, force: bool = False) -> Built:
    """Return the result of the plan, built if need be; `force` compiles every source again.

    Raises `BuildError` if a compiler fails or if another process holds the build for too long.
    """
    files = Files(plan.roots)
    lock_name = f"{plan.name}-{cache.digest([plan.kind, *(unit_facts(plan, unit, files) for unit in plan.units)])}"
    try:
        with build_lock(lock_name, plan.what, lambda owner: progress.show(f"waits for {owner}")) as work:
            built = None if force else find_result(plan)
            if built is not None:
                return built  # made by another process while this one waited
            progress.begin()
            return _Make(plan, work, progress, force).run()
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
        """Return the objects of all units, compiling those that are not in the cache."""
        units = self.plan.units
        known = [None if self.force else find_object(self.plan, unit, self.files) for unit in units]
        todo = [index for index, one in enumerate(known) if one is None]
        since_ns = time.time_ns()
        time.sleep(CLOCK_TICK_NS / 1e9)
        jobs = [self.compile_job(units[index], self.work / str(index)) for index in todo]
        results = self.run_jobs(jobs, lambda done: f"{len(units) - len(todo) + done}/{len(units)}")
        self.files.forget()
        for index, result in zip(todo, results, strict=True):
            if result.code == 0:  # kept even if another one failed
                known[index] = self.keep_object(units[index], result, since_ns)
        self.raise_if_failed(results)
        return [one for one in known if one is not None]

    def link(self, objects: Sequence[Object]) -> Built:
        """Link the objects and put the result into the cache."""
        plan, folder = self.plan, self.work / "linked"
        folder.mkdir()
        paths = [str(one.path) for one in objects]
        output = ("-o", str(folder / plan.file_name))
        command = (*plan.linker.command, "-shared", *output, *paths, *plan.link_flags)
        results = self.run_jobs([Job(title="linking", command=command, folder=Path.cwd())], lambda _: "linking")
        self.raise_if_failed(results)
        inputs = link_inputs(plan, objects, self.files)
        entry = cache.entry_for(plan.kind, plan.name, cache.digest(inputs))
        seconds = time.monotonic() - self.started
        _write_record(folder, self.finished)
        if self.force or not (entry.path / plan.file_name).is_file():
            cache.discard(entry)
        cache.publish(folder, entry, inputs, {"build_seconds": seconds, "result": plan.file_name})
        cache.discard(self.failed_entry())
        return Built(path=entry.path / plan.file_name, log_path=entry.path / "build.log", seconds=seconds, cached=False)

    def compile_job(self, unit: Unit, out: Path) -> Job:
        out.mkdir()
        return Job(title=f"compiling {unit.source.name}", command=unit.command(out), folder=Path.cwd())

    def run_jobs(self, jobs: Sequence[Job], state: Callable[[int], str]) -> list[Finished]:
        for job in jobs:
            self.progress.log(shlex.join(job.command))
        results = run_jobs(jobs, lambda done: self.progress.show(state(done)))
        for result in results:
            self.progress.log(result.output)
        self.finished += results
        return results

    def keep_object(self, unit: Unit, result: Finished, since_ns: int) -> Object:
        """Put a new object into the cache, and into the manifest which files made it."""
        folder, stem = Path(result.job.command[-1]).parent, unit.source.stem
        depfile = folder / f"{stem}.d"
        reached = read_depfile(depfile.read_text(errors="surrogateescape"), result.job.folder)
        depfile.unlink()
        facts = unit_facts(self.plan, unit, self.files)
        contents = contents_of(self.files, reached, since_ns)
        # A file edited while it was compiled: the object serves this build, and nobody will look for it.
        inputs = {**facts, "contents": contents or {"edited": str(time.time_ns())}}
        kept = Object(cache.entry_for("object", stem, cache.digest(inputs)), inputs)
        _write_record(folder, [result])
        if self.force or not kept.path.is_file():
            cache.discard(kept.entry)
        cache.publish(folder, kept.entry, inputs, {"compile_seconds": result.seconds})
        if contents is not None:
            manifest_for(stem, facts).remember(self.files, contents)
        return kept

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


def _write_record(folder: Path, results: Sequence[Finished]) -> None:
    """Write build.log, all that was said, and command.txt, what was run."""
    (folder / "build.log").write_text("".join(_log_of(result) for result in results))
    commands = "".join(f"{shlex.join(result.job.command)}\n" for result in results)
    (folder / "command.txt").write_text(f"cd {shlex.quote(str(Path.cwd()))}\n{commands}")


def _log_of(result: Finished) -> str:
    outcome = "not run" if result.code is None else f"exit status {result.code}, {result.seconds:.2f} s"
    return f"$ {shlex.join(result.job.command)}\n{result.output}[{outcome}]\n\n"
