"""Timing several contenders fairly: in turns, so that a busy moment of the machine hits all of them alike."""

from __future__ import annotations

import statistics
import sys
import timeit
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Seconds of one contender. `best` is what it can do, `median` and `spread` tell how quiet the machine was."""

    name: str
    samples: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.samples)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """How far the middle half of the samples reaches, as a part of the median."""
        if len(self.samples) < 4:
            return (max(self.samples) - self.best) / self.median
        low, _, high = statistics.quantiles(self.samples, n=4)
        return (high - low) / self.median


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A statement to time, as `timeit` takes it: no function call is added to what is measured."""

    name: str
    statement: str
    names: Mapping[str, object]
    per: int = 1  # the statement does this many of what is counted


def tell(text: str) -> None:
    """Print a line of progress, on stderr: tables are printed when their section is done, which takes minutes."""
    print(text, file=sys.stderr, flush=True)


def race(contenders: Sequence[Contender], *, seconds: float, rounds: int = 15) -> list[Timing]:
    """Return a timing for each contender. All together take about `seconds`, in `rounds` turns."""
    timers = [timeit.Timer(contender.statement, globals=dict(contender.names)) for contender in contenders]
    slot = seconds / rounds / len(timers)
    loops = [_loops_for(timer, slot) for timer in timers]
    samples: list[list[float]] = [[] for _ in timers]
    for _ in range(rounds):
        for contender, timer, number, kept in zip(contenders, timers, loops, samples, strict=True):
            kept.append(timer.timeit(number) / number / contender.per)
    return [
        Timing(name=contender.name, samples=tuple(kept)) for contender, kept in zip(contenders, samples, strict=True)
    ]


def take_turns(contenders: Mapping[str, Callable[[], float]], *, rounds: int) -> dict[str, Timing]:
    """Return a timing for each of some functions that measure themselves, such as runs of another process."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        tell(f"  round {number + 1} of {rounds}: {', '.join(contenders)}")
        for name, measure in contenders.items():
            samples[name].append(measure())
    return {name: Timing(name=name, samples=tuple(kept)) for name, kept in samples.items()}


def find(timings: Iterable[Timing], name: str) -> Timing | None:
    """Return the timing of this name, if it took part."""
    return next((timing for timing in timings if timing.name == name), None)


def _loops_for(timer: timeit.Timer, slot: float) -> int:
    timer.timeit(3)  # first calls fill caches
    number = 1
    while True:
        taken = timer.timeit(number)
        if taken > slot / 8 or taken > 0.05:
            return max(1, round(number * slot / taken))
        number *= 4
