"""Running several compilers at once."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from oneop.settings import settings


@dataclass(frozen=True, kw_only=True)
class Job:
    """One command to run in `folder`, and what it is called in messages."""

    title: str
    command: tuple[str, ...]
    folder: Path


@dataclass(frozen=True, kw_only=True)
class Finished:
    """What a job came to; `code` is None if it was not run because another one failed."""

    job: Job
    code: int | None
    output: str
    seconds: float
    started_ns: int


def job_count() -> int:
    """Return how many compilers may run at once: MAX_JOBS, else the cores this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return settings.max_jobs or cores or 1


def run_jobs(jobs: Sequence[Job], tick: Callable[[int], None]) -> list[Finished]:
    """Run all jobs and return what they came to, in order; after a failure, those not yet begun are left out.

    `tick` is called often with the number of jobs done. No compiler is left running if this is interrupted.
    """
    runner = _Runner()
    with ThreadPoolExecutor(max_workers=max(1, min(job_count(), len(jobs)))) as pool:
        try:  # from here on: an interrupt may come as soon as the first compiler runs
            futures = [pool.submit(runner.run, job) for job in jobs]
            pending: set[Future[Finished]] = set(futures)
            while pending:
                done, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                if any(future.result().code != 0 for future in done):
                    runner.failed = True
                tick(len(futures) - len(pending))
        except BaseException:
            runner.stop()
            raise
    return [future.result() for future in futures]


class _Runner:
    def __init__(self) -> None:
        self.failed = False
        self._stopped = False
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    def run(self, job: Job) -> Finished:
        started, started_ns = time.monotonic(), time.time_ns()
        if self.failed:
            return Finished(job=job, code=None, output="", seconds=0.0, started_ns=started_ns)
        with self._lock:
            if self._stopped:
                return Finished(job=job, code=None, output="", seconds=0.0, started_ns=started_ns)
            process = subprocess.Popen(
                job.command,
                cwd=job.folder,
                env={**os.environ, "LC_ALL": "C"},  # messages are parsed
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            self._running.add(process)
        output, _ = process.communicate()
        with self._lock:
            self._running.discard(process)
        if process.returncode != 0:
            self.failed = True
        seconds = time.monotonic() - started
        return Finished(job=job, code=process.returncode, output=output, seconds=seconds, started_ns=started_ns)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()
