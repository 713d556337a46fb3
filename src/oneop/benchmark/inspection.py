"""What a contender does beside being quick, looked at between its turns, where no time is measured.

A kernel may look fast and be wrong: it knows its inputs by their address and returns what it returned before, leaves
the work to a thread, returns memory that a call before it filled, or slows its peers down through settings of the
process. So the calls of a turn go through several sets of inputs, the result of the last one is compared at once with
what a call on other tensors gives, values change in place between turns, and settings are compared.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from oneop.benchmark import timing

Tensors = Sequence[torch.Tensor]
#: The part of the time that inspecting may take. The first turns are always inspected.
_SHARE, _ALWAYS = 0.3, 4


class Inspector:
    """Compares the results of one contender. `problem` is what is wrong, "" as long as nothing is.

    `sets` are the inputs of each of its calls, which may be written to; `expected` gives the results for such inputs in
    another way; `matches` compares.
    """

    def __init__(
        self,
        calls: Sequence[Callable[[], Any]],
        sets: Sequence[Tensors],
        expected: Callable[[Tensors], Tensors],
        matches: Callable[[Tensors, Tensors], bool],
        settings: Settings,
    ) -> None:
        """Start with nothing wrong."""
        self.problem = ""
        self._calls, self._sets, self._expected, self._matches = calls, sets, expected, matches
        self._settings = settings
        self._random = random.Random(0)
        self._turns, self._spent, self._started = 0, 0.0, time.monotonic()

    def __call__(self, index: int, result: Any) -> None:
        """Look at the result of the last call of a turn, which was that of set `index`."""
        results = [tensor.clone() for tensor in flat(result)]  # at once: a thread may still be at work
        changed = self._settings.restore()
        if changed:
            self.problem = self.problem or f"the op changes {changed} while it is measured"
        self._turns += 1
        now = time.monotonic()
        if self.problem or (self._turns > _ALWAYS and self._spent > _SHARE * (now - self._started)):
            return
        self._compare(index, results, "a result was wrong while the time was measured")
        for tensor in self._sets[index]:
            _change(tensor, self._random)
        results = [tensor.clone() for tensor in flat(self._calls[index]())]
        self._compare(index, results, "a result is wrong after values changed in place")
        self._spent += time.monotonic() - now

    def _compare(self, index: int, results: Tensors, problem: str) -> None:
        if not self.problem and not self._matches(self._expected(self._sets[index]), results):
            self.problem = problem


class Settings:
    """What a kernel can change to the disadvantage of others, as it is before the op is first called."""

    def __init__(self) -> None:
        """Note it."""
        self._before = _settings()

    def restore(self) -> str:
        """Put back what was changed; return the first of it, or ""."""
        changed = ""
        for name, (value, put_back) in _settings().items():
            before, _ = self._before[name]
            if value != before:
                put_back(before)
                changed = changed or name
        return changed


def flat(result: Any) -> list[torch.Tensor]:
    """Return the tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    return [tensor for item in result or () for tensor in flat(item)] if isinstance(result, (tuple, list)) else []


def _change(tensor: torch.Tensor, draw: random.Random) -> None:
    """Change values so that a cheap look finds the same ones: all but the first and the last, or a single one.

    What a kernel compares is not known. Turned around, the sum is as before; of one element, almost all others are.
    """
    if not tensor.is_floating_point():
        return  # places and lengths must stay what they are
    with torch.no_grad():
        values = tensor.view(-1) if tensor.is_contiguous() else tensor
        if not tensor.is_contiguous() or len(values) <= 3:
            tensor.mul_(0.5)
        elif draw.random() < 0.5:
            values[1:-1] = values[1:-1].flip(0)
        else:  # the value that is farthest off among some: it is one that the op takes
            place, others = draw.randrange(len(values)), [draw.randrange(len(values)) for _ in range(16)]
            values[place] = values[max(others, key=lambda other: abs(float(values[other]) - float(values[place])))]


def _settings() -> dict[str, tuple[Any, Callable[[Any], object]]]:
    """Return values, and how to put each back."""
    settings: dict[str, tuple[Any, Callable[[Any], object]]] = {
        "torch's number of threads": (torch.get_num_threads(), torch.set_num_threads),
        "torch's default dtype": (torch.get_default_dtype(), torch.set_default_dtype),
        "torch's precision of float32 products": (
            torch.get_float32_matmul_precision(),
            torch.set_float32_matmul_precision,
        ),
        "how denormal numbers are taken": (_flushes_denormals(), torch.set_flush_denormal),
        "the clock": (timing.clock, _set_clock),
        "time.perf_counter": (time.perf_counter, _set_perf_counter),
    }
    if hasattr(os, "sched_getaffinity"):
        processors = frozenset(os.sched_getaffinity(0))
        settings["the processors of the process"] = (processors, lambda before: os.sched_setaffinity(0, before))
    return settings


def _flushes_denormals() -> bool:
    return bool((torch.tensor([5e-324], dtype=torch.float64) * 1.0).item() == 0.0)


def _set_clock(clock: Callable[[], float]) -> None:
    timing.clock = clock


def _set_perf_counter(clock: Any) -> None:
    time.perf_counter = clock
