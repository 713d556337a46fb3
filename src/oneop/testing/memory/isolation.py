"""Calls in a child process: one that ends the process, or never returns, is told and harms nobody.

The child is a fork, so it has all ops and tensors of this process. It runs on one thread, because the threads of the
parent are not there; it must not use CUDA.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: How long one call may take by the clock. It is small, so only one that hangs takes so long.
SECONDS = 20.0


@dataclass(frozen=True)
class Death:
    """Which call ended the child, and how: "SIGSEGV", "exit status 3", or None if it did not return."""

    place: int
    how: str | None


def first_death(calls: Sequence[Callable[[], object]], *, seconds: float | None = None) -> Death | None:
    """Run the calls one after the other in a child; return the first that ends it. What they raise is left alone."""
    if not calls:
        return None

    def run(writer: int) -> None:
        for call in calls:
            os.write(writer, b".")
            with contextlib.suppress(Exception):
                call()
        os.write(writer, b"!")

    reader, child = _fork(run)
    try:
        return _watch(child, reader, SECONDS if seconds is None else seconds)
    finally:
        os.close(reader)


def bytes_in_child(function: Callable[[], bytes], *, seconds: float | None = None) -> bytes | None:
    """Return what the function returns in a child, whose past is that of this process; None if that cannot be had."""

    def call(writer: int) -> None:
        answer = function()
        for start in range(0, len(answer), 4096):
            os.write(writer, answer[start : start + 4096])
        os.write(writer, b"!")

    reader, child = _fork(call)
    ends = time.monotonic() + (SECONDS if seconds is None else seconds)
    answer = b""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    while poll.poll(max(ends - time.monotonic(), 0.0) * 1000):
        notes = os.read(reader, 1 << 16)
        if not notes:
            break
        answer += notes
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return answer[:-1] if answer.endswith(b"!") else None


def _fork(work: Callable[[int], None]) -> tuple[int, int]:
    """Start a child that does this work, with the writing end of a pipe; return the reading end and the child."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other threads are not needed in the child
        child = os.fork()
    if child == 0:
        _work_and_exit(work, reader, writer)
    os.close(writer)
    return reader, child


def _work_and_exit(work: Callable[[int], None], reader: int, writer: int) -> None:
    """Be the child, and leave without what a process does at its end."""
    try:
        import resource

        import torch

        os.close(reader)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)  # what a dying program says; the parent says it better
        torch.set_num_threads(1)
        work(writer)
    finally:
        os._exit(0)


def _watch(child: int, reader: int, seconds: float) -> Death | None:
    place, is_done, since = -1, False, time.monotonic()
    poll = select.poll()  # select() refuses numbers above 1024, which a process with many files has
    poll.register(reader, select.POLLIN)
    while True:
        remaining = since + seconds - time.monotonic()
        if not poll.poll(max(remaining, 0.0) * 1000):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return Death(max(place, 0), None)
        notes = os.read(reader, 4096)
        since = time.monotonic()
        place += notes.count(b".")
        is_done = is_done or b"!" in notes
        if notes:
            continue
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            return Death(max(place, 0), signal.Signals(os.WTERMSIG(status)).name)
        return None if is_done else Death(max(place, 0), f"exit status {os.WEXITSTATUS(status)}")
