"""Asynchronous jobs: runs that are queued, and functions that take their results.

One thread runs them and their callbacks, in the order of the calls. Whoever waits on that thread (a callback, a kernel)
for a run that has not begun runs it at once, so waiting never stops the thread that would have to do the work.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from oneop.errors import ArgumentError, described

_log = logging.getLogger("oneop.jobs")
_here = threading.local()  # `is_worker` on the thread that runs jobs


class LostErrors:
    """Errors of runs that nobody waits for; the next call of the job raises the first of them."""

    def __init__(self, job: str) -> None:
        """Start without errors."""
        self._job = job
        self._errors: list[BaseException] = []

    def add(self, error: BaseException, what: str) -> None:
        """Keep an error, and log it: there may be no next call."""
        _log.error('job "%s": %s', self._job, what, exc_info=error)
        error.add_note(f'job "{self._job}": {what}')
        self._errors.append(error)

    def raise_first(self) -> None:
        """Raise the first error, if there are any; all are forgotten then."""
        if self._errors:
            errors, self._errors = self._errors, []
            raise errors[0]


class Pending:
    """A run on its way: call it with a function that takes the result, or wait for it."""

    def __init__(self, job: str, run: Callable[[], Any], lost: LostErrors) -> None:
        """Queue the run."""
        self._task = _Task(job, run, lost)
        _worker().submit(self._task.run_on_worker)

    def __call__(self, callback: Callable[[Any], object]) -> None:
        """Have `callback` called with the result, on the thread of the jobs.

        If the run fails it is not called, and the next call of the job raises the error.
        """
        if not callable(callback):
            raise ArgumentError(f"expected a function to call with the result, found {described(callback)}")
        self._task.is_expected = True
        _worker().submit(self._task.hand_on, callback)

    def wait(self) -> Any:
        """Return the result when it is there; raises what the job raised."""
        return self._task.wait()

    def __del__(self) -> None:
        """Keep an error that nobody can ask for any more."""
        task = getattr(self, "_task", None)
        if task is not None:
            task.let_go()


class _Task:
    """One run: not begun, running, or done. Its state changes under a lock that is never held while anything runs."""

    def __init__(self, job: str, run: Callable[[], Any], lost: LostErrors) -> None:
        self._job = job
        self._run: Callable[[], Any] | None = run
        self._lost = lost
        self._lock = threading.RLock()  # the garbage collector may come in at any time
        self._done = threading.Event()
        self._runner: int | None = None
        self._result: Any = None
        self._error: BaseException | None = None
        self._is_reported = False
        self._is_abandoned = False
        self.is_expected = False  # a callback, or somebody who waits, will take the error

    def _perform(self) -> bool:
        """Run it here, unless it has begun elsewhere."""
        with self._lock:
            run, self._run = self._run, None
            if run is None:
                return False
            self._runner = threading.get_ident()
        try:
            self._result = run()
        except BaseException as error:  # any error belongs to whoever waits
            self._error = error
        self._done.set()
        if self._is_abandoned:
            self.let_go()
        return True

    def run_on_worker(self) -> None:
        _here.is_worker = True
        self._perform()

    def hand_on(self, callback: Callable[[Any], object]) -> None:
        """Give the result to a callback; it is there, since the worker works in order."""
        _here.is_worker = True
        self._perform()
        if self._error is not None:
            self._report("a run failed, so its callback was not called")
            return
        try:
            callback(self._result)
        except BaseException as error:  # it must not end the thread
            self._lost.add(error, "a callback raised this")

    def wait(self) -> Any:
        if getattr(_here, "is_worker", False):
            self._perform()
            if not self._done.is_set() and self._runner == threading.get_ident():
                raise ArgumentError(f'job "{self._job}": a run waits for itself, inside one of its kernels')
        self._done.wait()
        if self._error is not None:
            with self._lock:
                self._is_reported = True
            raise self._error
        return self._result

    def _report(self, what: str) -> None:
        with self._lock:
            is_first, self._is_reported = not self._is_reported, True
        if is_first and self._error is not None:
            self._lost.add(self._error, what)

    def let_go(self) -> None:
        """Keep the error of a run that nobody can ask for any more, now or when it has run."""
        self._is_abandoned = True
        if self._done.is_set() and self._error is not None and not self.is_expected:
            self._report("a run failed, and nobody waited for it")


_worker_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


def _worker() -> ThreadPoolExecutor:
    """Return the one thread on which asynchronous jobs run, in order."""
    global _executor
    with _worker_lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(1, thread_name_prefix="oneop-job")
        return _executor


def _forget_worker() -> None:
    global _worker_lock, _executor
    _worker_lock, _executor = threading.Lock(), None


os.register_at_fork(after_in_child=_forget_worker)  # a child has no threads of its parent
