"""Writes after a call has returned, by a thread or a stream that the kernel left behind."""

from __future__ import annotations

import time
from collections.abc import Iterable

import torch

from oneop.testing.case import Case
from oneop.testing.explore import watchers
from oneop.testing.memory.guards import LATE_SECONDS, PATTERNS, bytes_of, make_buffer, run_in_buffers

#: Kernels that are watched at once. Their memory is kept for that time, so a late write harms nothing else.
_MOST = 16


def first_late_write(calls: Iterable[tuple[Case, int]]) -> tuple[Case, int] | None:
    """Run these kernels, watch all of their memory for a while, and return the call of the first whose memory changes.

    They run before other checks: freed memory that is written later damages the process.
    """
    watched: list[tuple[Case, int, list[torch.Tensor]]] = []
    for case, kernel in calls:
        if len(watched) == _MOST:
            break
        for watcher in watchers:
            watcher(case)
        try:
            watched.append((case, kernel, _memory_of(case, kernel)))
        except Exception:
            continue  # the kernel does not take the call, or other families tell of what it raises
    before = [[bytes_of(tensor).clone() for tensor in tensors] for _, _, tensors in watched]
    if not watched:
        return None
    time.sleep(LATE_SECONDS)
    if any(tensor.is_cuda for _, _, tensors in watched for tensor in tensors):
        torch.cuda.synchronize()
    for (case, kernel, tensors), old in zip(watched, before, strict=True):
        if not all(torch.equal(was, bytes_of(tensor)) for was, tensor in zip(old, tensors, strict=True)):
            return case, kernel
    return None


def _memory_of(case: Case, kernel: int) -> list[torch.Tensor]:
    """Run a kernel between guards; return its inputs, outputs and scratch memory with the guards, and its results."""
    results, buffers, _ = run_in_buffers(
        case.subject,
        kernel,
        case.group(case.make()),
        case.attributes,
        lambda like, use: make_buffer(like, PATTERNS[0], copy=use.has_values, device=case.device),
    )
    raw = [buffer.raw for _, _, buffer, _ in buffers.inputs]
    return [*raw, *(buffer.raw for buffer in (*buffers.outputs, buffers.tmp)), *results]
