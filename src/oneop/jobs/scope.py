"""Where a part of a job runs: `with oneop.scope.placement("cpu", "0:0"):`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from oneop.errors import ArgumentError
from oneop.jobs.consistent import ranks_of
from oneop.jobs.context import current_context

_TAGS = {"cpu": "cpu", "gpu": "cuda", "cuda": "cuda"}


class Placement(contextlib.ContextDecorator):
    """Devices for a part of a job, or for all of one: `FunctionConfig.default_placement_scope`."""

    def __init__(self, device: torch.device, ranks: tuple[int, ...] = (0,)) -> None:
        """Keep the device of this process, and the ranks of all devices."""
        self.device = device
        self.ranks = ranks
        self._entered: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        """Put what follows there. Outside of a job it means nothing."""
        context = current_context()
        entered = contextlib.nullcontext() if context is None else context.on_device(self.device, self.ranks)
        entered.__enter__()
        self._entered.append(entered)

    def __exit__(self, *error: Any) -> None:
        """Go back to where it was before."""
        self._entered.pop().__exit__(*error)


def placement(device_tag: str, machine_device_ids: str | Sequence[str] = "0:0") -> Placement:
    """Put what follows on a device: "cpu", "gpu" or "cuda"; "0:1" is machine 0, device 1.

    "0:0-3" are four devices: the whole job runs on them in the consistent view, one rank for each, if the program was
    started so; in a single process they mean the first one. As OneFlow does, a GPU placement means the CPU where torch
    has no CUDA device.
    """
    return Placement(parse_placement(device_tag, machine_device_ids), ranks_of(machine_device_ids))


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
