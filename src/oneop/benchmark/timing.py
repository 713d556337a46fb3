"""The time of several functions, measured in turns, so that a busy moment hits all of them alike.

Between two looks at the clock there is nothing but calls of one function, and the wait for its device. Whatever a call
needs is bound to the function before; see `contenders.py`.
"""

from __future__ import annotations

import gc
import itertools
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

#: A turn is so many calls that it takes this long, or the most calls.
TURN_SECONDS = 0.002
MOST_CALLS = 1 << 20
LEAST_TURNS = 5

#: Looked up at each use: tests put a clock here that only the measured functions advance.
clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds of one call, of many turns: the least, the median, and the distance between the quartiles."""

    minimum: float
    median: float
    spread: float
    turns: int


def measure(
    functions: Mapping[str, Callable[[], object]],
    *,
    seconds: float = 0.15,
    synchronize: Callable[[], object] | None = None,
) -> dict[str, Timing]:
    """Return the time of each function; `seconds` is about what all of them together take, after their warm-up."""
    with _no_garbage_collection():
        counts: dict[str, int] = {}
        for name, function in functions.items():
            _calls_of_a_turn(function, synchronize)  # the warm-up
            counts[name] = _calls_of_a_turn(function, synchronize)
        samples: dict[str, list[float]] = {name: [] for name in functions}
        order = list(functions)
        shuffle = random.Random(0).shuffle  # no function always comes after the one that empties the caches
        ends = clock() + seconds
        while len(samples[order[0]]) < LEAST_TURNS or clock() < ends:
            shuffle(order)
            for name in order:
                samples[name].append(_turn(functions[name], counts[name], synchronize) / counts[name])
    return {name: _timing(values) for name, values in samples.items()}


def _calls_of_a_turn(function: Callable[[], object], synchronize: Callable[[], object] | None) -> int:
    """Return how many calls take a turn's time, found by doubling."""
    count = 1
    while count < MOST_CALLS and _turn(function, count, synchronize) < TURN_SECONDS:
        count *= 2
    return count


def _turn(function: Callable[[], object], count: int, synchronize: Callable[[], object] | None) -> float:
    calls = itertools.repeat(None, count)
    started = clock()
    for _ in calls:
        function()
    if synchronize is not None:
        synchronize()
    return clock() - started


def _timing(values: list[float]) -> Timing:
    quartiles = statistics.quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return Timing(
        minimum=min(values),
        median=statistics.median(values),
        spread=quartiles[2] - quartiles[0],
        turns=len(values),
    )


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Hold the collector back: it would run in the turn of whoever allocates the next object."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
