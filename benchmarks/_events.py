"""Timing work on a GPU by CUDA events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from benchmarks._timing import Timing


def race_events(contenders: Mapping[str, Callable[[], Any]], rounds: int = 25, *, ahead: int = 0) -> list[Timing]:
    """Return a timing for each contender, which take turns.

    With `ahead` the GPU first spends so many cycles on nothing, while the host puts the work into the stream: the time
    that the host takes for a call is left out then.
    """
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds + 3):
        for name, run in contenders.items():
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if ahead:
                torch.cuda._sleep(ahead)
            start.record()
            run()
            end.record()
            end.synchronize()
            if number >= 3:
                times[name].append(start.elapsed_time(end) / 1000)
    return [Timing(name=name, samples=tuple(samples)) for name, samples in times.items()]
