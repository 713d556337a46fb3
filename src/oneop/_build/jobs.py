"""Running several compilers at once, so that none outlives this process.

All compilers of a build are in one process group. Its first member is a shell that waits for the end of a pipe, which
only this process holds open: when this process ends, however (SIGTERM, SIGKILL, an exit in another thread), the shell
kills the group. An interrupt does the same at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from oneop.settings import settings

#: Variables that have compilers write or read more than they are told to.
UNWANTED = ("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES")


@dataclass(frozen=True, kw_only=True)
class Job:
    """One command to run in `folder`, and what it is called in messages."""

    title: str
    command: tuple[str, ...]
    folder: Path
    may_fail: bool = False  # then the others go on


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a job came to; `code` is None if it was not run because another one failed."""

    job: Job
    code: int | None
    output: str
    seconds: float


def job_count() -> int:
    """Return how many compilers may run at once: MAX_JOBS, else the cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return settings.max_jobs or cores or 1


def run_jobs(jobs: Sequence[Job], tick: Callable[[int, Sequence[str]], None]) -> list[Finished]:
    """Run all jobs and return what they came to, in order; after a failure, those not yet begun are left out.

    `tick` is called often with the number of jobs done and the titles of those that run. No compiler is left running if
    this is interrupted.
    """
    if not jobs:
        return []
    with _Group() as group, ThreadPoolExecutor(max_workers=max(1, min(job_count(), len(jobs)))) as pool:
        runner = _Runner(group)
        try:  # from here on: an interrupt may come as soon as the first compiler runs
            futures = [pool.submit(runner.run, job) for job in jobs]
            pending: set[Future[Finished]] = set(futures)
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                if any(future.result().code != 0 and not future.result().job.may_fail for future in done):
                    runner.failed = True
                tick(len(futures) - len(pending), runner.titles())
        except BaseException:
            runner.stop()  # then the workers end, for which the pool waits
            raise
    return [future.result() for future in futures]


class _Group:
    """A process group that ends with this process."""

    def __enter__(self) -> _Group:
        reading, self._writing = os.pipe()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", "trap '' INT TERM HUP; read -r _; kill -KILL 0"],
            stdin=reading,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        os.close(reading)
        self.id = self._guard.pid
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._writing)
        self.kill()
        self._guard.wait()

    def kill(self) -> None:
        """End every process of the group."""
        with contextlib.suppress(ProcessLookupError):  # the guard is not waited for yet, so the number is still its own
            os.killpg(self.id, signal.SIGKILL)


class _Runner:
    def __init__(self, group: _Group) -> None:
        self.failed = False
        self._group = group
        self._stopped = False
        self._running: dict[int, str] = {}
        self._lock = threading.Lock()

    def run(self, job: Job) -> Finished:
        started = time.monotonic()
        with self._lock:
            if self._stopped or self.failed:
                return Finished(job=job, code=None, output="", seconds=0.0)
            try:
                process = self._start(job)
            except OSError as error:
                self.failed = self.failed or not job.may_fail
                return Finished(job=job, code=127, output=f"{job.command[0]}: {error.strerror}\n", seconds=0.0)
            self._running[process.pid] = job.title
        output, _ = process.communicate()
        with self._lock:
            del self._running[process.pid]
        if process.returncode != 0 and not job.may_fail:
            self.failed = True
        return Finished(job=job, code=process.returncode, output=output, seconds=time.monotonic() - started)

    def _start(self, job: Job) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name not in UNWANTED}
        return subprocess.Popen(
            job.command,
            cwd=job.folder,
            env={**environment, "LC_ALL": "C"},  # messages are parsed
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            process_group=self._group.id,
        )

    def titles(self) -> list[str]:
        """Return what runs now, the longest first."""
        with self._lock:
            return list(self._running.values())

    def stop(self) -> None:
        with self._lock:  # a compiler is started under it: none begins after this
            self._stopped = True
            self._group.kill()
