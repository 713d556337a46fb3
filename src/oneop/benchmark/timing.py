"""The time of several functions, measured in turns, so that a busy moment hits all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

TURN_SECONDS = 0.002
LEAST_TURNS = 5


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: the median of many turns, and the distance between their quartiles."""

    median: float
    spread: float
    turns: int


def measure(
    functions: Mapping[str, Callable[[], object]],
    *,
    seconds: float = 0.15,
    synchronize: Callable[[], object] | None = None,
) -> dict[str, Timing]:
    """Return the time of each function; `seconds` is about what all of them together take."""
    wait = synchronize or (lambda: None)
    calls = {}
    for name, function in functions.items():
        function()
        wait()
        started = time.perf_counter()
        function()
        wait()
        calls[name] = max(1, int(TURN_SECONDS / max(time.perf_counter() - started, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in functions}
    ends = time.perf_counter() + seconds
    turn = 0
    while turn < LEAST_TURNS or time.perf_counter() < ends:
        for name, function in functions.items():
            count = calls[name]
            started = time.perf_counter()
            for _ in range(count):
                function()
            wait()
            samples[name].append((time.perf_counter() - started) / count)
        turn += 1
    return {name: _timing(values) for name, values in samples.items()}


def _timing(values: list[float]) -> Timing:
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return Timing(median=statistics.median(values), spread=quartiles[2] - quartiles[0], turns=len(values))
