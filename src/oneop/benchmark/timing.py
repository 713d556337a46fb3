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

#: A turn is so many calls that it takes this long, or the most calls. Short: the system takes the processor away for
#: milliseconds, and the least time is that of a turn in which it did not.
TURN_SECONDS = 0.0005
MOST_CALLS = 1 << 20
LEAST_TURNS = 5
#: Quartiles further apart than this part of the median: the machine is busy with something else.
NOISY = 0.3
#: On a busy machine measuring takes up to so many times as long.
PATIENCE = 4

#: Looked up at each use: tests put a clock here that only the measured functions advance.
clock: Callable[[], float] = time.perf_counter


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds of one call, of many turns: the least, the median, and the distance between the quartiles."""

    minimum: float
    median: float
    spread: float
    turns: int


Call = Callable[[], object]


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Calls that a turn makes one after the other, again and again.

    `inspect` is told which of them was the last one of a turn, and what it returned. That is not measured.
    """

    calls: tuple[Call, ...]
    inspect: Callable[[int, object], None] | None = None


def measure(
    functions: Mapping[str, Call | Contender],
    *,
    seconds: float = 0.15,
    synchronize: Call | None = None,
) -> dict[str, Timing]:
    """Return the time of each function.

    `seconds` is about what they take together after their warm-up; on a busy machine it is up to `PATIENCE` times that.
    """
    with _no_garbage_collection():
        counts: dict[str, int] = {}
        contenders = {
            name: function if isinstance(function, Contender) else Contender(calls=(function,))
            for name, function in functions.items()
        }
        for name, contender in contenders.items():
            _calls_of_a_turn(contender, synchronize)  # the warm-up
            counts[name] = _calls_of_a_turn(contender, synchronize)
        samples: dict[str, list[float]] = {name: [] for name in functions}
        order = list(functions)
        shuffle = random.Random(0).shuffle  # no function always comes after the one that empties the caches
        now = clock  # whatever a function does to it
        started = now()
        for part in range(1, PATIENCE + 1):
            while len(samples[order[0]]) < LEAST_TURNS or now() < started + part * seconds:
                shuffle(order)
                for name in order:
                    samples[name].append(_turn(contenders[name], counts[name], synchronize) / counts[name])
            timings = {name: _timing(values) for name, values in samples.items()}
            if not any(timing.spread > NOISY * timing.median for timing in timings.values()):
                break
    return timings


def _calls_of_a_turn(contender: Contender, synchronize: Call | None) -> int:
    """Return how many calls take a turn's time, found by doubling."""
    count, before = 1, 0.0
    while count < MOST_CALLS:
        took = _turn(contender, count, synchronize)
        if before and took > 4 * before:  # twice the calls, so something else ran meanwhile
            took = _turn(contender, count, synchronize)
        if took >= TURN_SECONDS:
            break
        count, before = 2 * count, took
    return count


def _turn(contender: Contender, count: int, synchronize: Call | None) -> float:
    now = clock  # one and the same for both looks, whatever a call does to it
    last = (count - 1) % len(contender.calls)
    last_call = contender.calls[last]
    before_last = itertools.islice(itertools.cycle(contender.calls), count - 1)
    started = now()
    for call in before_last:
        call()
    result = last_call()  # only this one is kept: memory is used again as in a program
    if synchronize is not None:
        synchronize()
    took = now() - started
    if contender.inspect is not None:
        contender.inspect(last, result)
    return took


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
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
