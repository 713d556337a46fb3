"""Calls of hosts beside torch at n=8, against the framework's own op in the same run: `python -m benchmarks.hosts`."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import oneop

ALPHA = 0.2
SOURCE = "examples/leaky_relu/leaky_relu.cpp"
ROUNDS = 15
CALLS = 20_000


def ratio(subject: Callable[[], Any], peer: Callable[[], Any]) -> tuple[float, float, float]:
    """Return nanoseconds of both, and the median of their ratios in alternating turns."""
    turns = []
    for _ in range(ROUNDS):
        turns.append((timeit.timeit(subject, number=CALLS), timeit.timeit(peer, number=CALLS)))
    nanoseconds = [min(column) / CALLS * 1e9 for column in zip(*turns, strict=True)]
    return *nanoseconds, statistics.median(ours / theirs for ours, theirs in turns)  # type: ignore[return-value]


def main() -> None:
    """Print a line for each call."""
    relu = oneop.numpy.load(oneop.build("leaky_relu", [SOURCE])).leaky_relu
    x = np.arange(8, dtype=np.float32)
    for text, subject in {"op(x)": lambda: relu(x), "op(x, alpha=...)": lambda: relu(x, alpha=ALPHA)}.items():
        ours, theirs, times = ratio(subject, lambda: np.negative(x))
        print(f"numpy  {text:18} {ours:6.0f} ns   np.negative(x) {theirs:6.0f} ns   {times:.2f}x (bar 2.00x)")


if __name__ == "__main__":
    main()
