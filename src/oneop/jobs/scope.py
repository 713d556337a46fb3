"""Where a part of a job runs: `with oneop.scope.placement("cpu", "0:0"):`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence

import torch

from oneop.errors import ArgumentError
from oneop.jobs.consistent import ranks_of
from oneop.jobs.context import current_context

_TAGS = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}


@contextlib.contextmanager
def placement(device_tag: str, machine_device_ids: str | Sequence[str] = "0:0") -> Iterator[None]:
    """Put what follows on a device: "cpu", "gpu" or "cuda"; "0:1" is machine 0, device 1.

    "0:0-3" are four devices: the whole job runs on them in the consistent view, one rank for each, if the program was
    started so; in a single process they mean the first one. As OneFlow does, a GPU placement means the CPU where torch
    has no CUDA device.
    """
    device = parse_placement(device_tag, machine_device_ids)
    ranks = ranks_of(machine_device_ids)
    context = current_context()
    if context is None:
        yield
        return
    with context.on_device(device, ranks):
        yield


def parse_placement(device_tag: str, machine_device_ids: str | Sequence[str]) -> torch.device:
    """Return the torch device that a placement names. Raises `ArgumentError`."""
    if device_tag not in _TAGS:
        raise ArgumentError(f"scope.placement: expected cpu, gpu or cuda, found {device_tag!r}")
    first = machine_device_ids if isinstance(machine_device_ids, str) else next(iter(machine_device_ids), "")
    match = re.fullmatch(r"@?(\d+):(\d+)(?:-(\d+))?", first)
    if match is None:
        raise ArgumentError(f'scope.placement: expected devices such as "0:0" or "0:0-3", found {machine_device_ids!r}')
    if _TAGS[device_tag] == "cuda" and torch.cuda.is_available():
        return torch.device("cuda", int(match[2]))
    return torch.device("cpu")


@contextlib.contextmanager
def consistent_view() -> Iterator[None]:
    """Accept the default view; kept for programs that name it."""
    yield


mirrored_view = consistent_view


@contextlib.contextmanager
def namespace(name: str) -> Iterator[None]:
    """Put `name-` before the names of ops and variables made inside."""
    context = current_context()
    if context is None:
        yield
        return
    with context.in_namespace(name):
        yield
