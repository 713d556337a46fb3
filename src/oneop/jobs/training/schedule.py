"""Learning rates over time. A schedule maps the number of finished steps to a rate."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from oneop.errors import ArgumentError


class Schedule(Protocol):
    """Anything with a rate for each step."""

    def rate(self, step: int) -> float:
        """Return the learning rate of step number `step`, counted from 0."""
        ...


@dataclass(frozen=True)
class Warmup:
    """The first `steps` steps run at a part of the rate."""

    steps: int
    multiplier: float
    is_linear: bool

    def factor(self, step: int) -> float:
        """Return what the rate of this step is multiplied by."""
        if step >= self.steps:
            return 1.0
        return self.multiplier + (1.0 - self.multiplier) * step / self.steps if self.is_linear else self.multiplier


class warmup:
    """Ways to warm up."""

    @staticmethod
    def constant(steps: int, multiplier: float) -> Warmup:
        """Run the first steps at `multiplier` times the rate."""
        return Warmup(steps, multiplier, is_linear=False)

    @staticmethod
    def linear(steps: int, start_multiplier: float) -> Warmup:
        """Rise from `start_multiplier` times the rate to the full rate."""
        return Warmup(steps, start_multiplier, is_linear=True)


class PiecewiseConstantScheduler:
    """`values[i]` until step `boundaries[i]`, the last value after that."""

    def __init__(self, boundaries: Sequence[int], values: Sequence[float], warmup: Warmup | None = None) -> None:
        """Take one value more than boundaries."""
        if len(values) != len(boundaries) + 1:
            raise ArgumentError(
                f"PiecewiseConstantScheduler: expected one value more than boundaries, "
                f"found {len(values)} values and {len(boundaries)} boundaries"
            )
        if list(boundaries) != sorted(boundaries):
            raise ArgumentError(f"PiecewiseConstantScheduler: boundaries must rise, found {list(boundaries)}")
        self._boundaries, self._values, self._warmup = list(boundaries), [float(value) for value in values], warmup

    @property
    def is_constant(self) -> bool:
        """Whether every step has the same rate."""
        return self._warmup is None and len(set(self._values)) == 1

    def rate(self, step: int) -> float:
        """Return the value for this step."""
        value = self._values[bisect.bisect_left(self._boundaries, step)]
        return value * (self._warmup.factor(step) if self._warmup else 1.0)


class CosineScheduler:
    """Falls from `base_lr` to `alpha` times it along half a cosine of `steps` steps."""

    def __init__(self, base_lr: float, steps: int, alpha: float = 0.0, warmup: Warmup | None = None) -> None:
        """Take the first rate, the length of the fall, and where it ends."""
        if steps <= 0:
            raise ArgumentError(f"CosineScheduler: expected a positive number of steps, found {steps}")
        self._base, self._steps, self._alpha, self._warmup = float(base_lr), steps, alpha, warmup

    def rate(self, step: int) -> float:
        """Return the value for this step."""
        cosine = 0.5 * (1.0 + math.cos(math.pi * min(step, self._steps) / self._steps))
        value = self._base * ((1.0 - self._alpha) * cosine + self._alpha)
        return value * (self._warmup.factor(step) if self._warmup else 1.0)


def is_constant(schedule: Schedule) -> bool:
    """Tell whether a rate is known to be the same at every step."""
    return isinstance(schedule, PiecewiseConstantScheduler) and schedule.is_constant


def as_schedule(value: Schedule | float) -> Schedule:
    """Return a schedule; a number means a constant rate."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return PiecewiseConstantScheduler([], [value])
    if not callable(getattr(value, "rate", None)):
        raise ArgumentError(f"optimizer: expected a learning-rate scheduler or a finite number, found {value!r}")
    return value  # type: ignore[return-value]
