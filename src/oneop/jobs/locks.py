"""What tracing and running need around them: locks, and freedom from the modes of the calling thread.

`csrc/engine/plans/job_lock.h` says which locks there are and in which order they are taken.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from typing import Any

import torch

from oneop.errors import ArgumentError
from oneop.runtime.core import core


@contextlib.contextmanager
def holding(lock: Any, *, is_exclusive: bool) -> Iterator[None]:
    """Hold a `JobLock`; it is waited for without the GIL."""
    lock.lock(is_exclusive)
    try:
        yield
    finally:
        lock.unlock()


@contextlib.contextmanager
def tracing_alone(what: str) -> Iterator[None]:
    """Keep all other threads from tracing jobs and from changing which variables a session has.

    Raises `ArgumentError` inside a run of a job: its thread has locks that come after this one, and torch is in a state
    in which nothing can be traced.
    """
    if core().holds_job_lock():
        raise ArgumentError(
            f"{what} is not possible inside a run of a job (here: in one of its kernels)\n"
            "  do it before: compile() traces a job without running it"
        )
    with holding(_tracing_lock(), is_exclusive=True):
        yield


@functools.cache
def _tracing_lock() -> Any:
    return core().JobLock("tracing", is_recursive=False)


@contextlib.contextmanager
def torch_tracing_alone() -> Iterator[None]:
    """Keep torch.compile from tracing on other threads: torch's tracers patch `torch.nn.Module` for the whole process.

    Inside, nothing waits for a lock of oneop.
    """
    module = sys.modules.get("torch._dynamo.convert_frame")
    with module.compile_lock if module is not None else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def no_modes() -> Iterator[None]:
    """Trace, plan or run as if the job were called at the top of a program.

    Variables and buffers that are made under `inference_mode` could not be changed outside it, no gradients come under
    `no_grad`, and casts by `autocast` would stay in the job.
    """
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield
