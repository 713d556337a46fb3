"""Where buffers live: one arena, in which buffers that are never alive at the same time may overlap."""

from __future__ import annotations

import bisect
import random
from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True)
class Lifetime:
    """A buffer of `size` bytes that is in use from step `first` to step `last`."""

    size: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class MemoryPlan:
    """The offset of each buffer, and how good the plan is."""

    offsets: tuple[int, ...]
    size: int  # of the arena
    lower_bound: int  # the most bytes alive at one time: no plan needs less
    naive: int  # every buffer on its own


def plan_memory(buffers: Sequence[Lifetime]) -> MemoryPlan:
    """Return offsets for the buffers.

    Each is put as low as those that are alive with it allow. Which order of placing them is best differs from job to
    job, so a few are tried.
    """
    sizes = [align(buffer.size) for buffer in buffers]

    def length(i: int) -> int:
        return buffers[i].last - buffers[i].first + 1

    numbers = range(len(buffers))
    orders = [
        sorted(numbers, key=lambda i: (-sizes[i], buffers[i].first)),
        sorted(numbers, key=lambda i: (-sizes[i] * length(i), buffers[i].first)),
        sorted(numbers, key=lambda i: (-length(i), -sizes[i])),
    ]
    # Where these leave gaps, disturbed forms of the first may do better. The budget keeps planning quick.
    chance = random.Random(0)
    tries = min(200, 400_000 // max(len(buffers) ** 2, 1))
    orders += [sorted(numbers, key=lambda i: -sizes[i] * chance.uniform(0.3, 1.0)) for _ in range(tries)]
    lower_bound = _most_alive(buffers, sizes)
    best: tuple[int, list[int]] | None = None
    for order in orders:
        offsets = _place(buffers, sizes, order)
        size = max((offsets[i] + sizes[i] for i in numbers), default=0)
        if best is None or size < best[0]:
            best = size, offsets
        if size <= 1.01 * lower_bound:
            break
    assert best is not None
    return MemoryPlan(offsets=tuple(best[1]), size=best[0], lower_bound=lower_bound, naive=sum(sizes))


def _place(buffers: Sequence[Lifetime], sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    offsets = [0] * len(buffers)
    placed: list[int] = []
    keys: list[tuple[int, int]] = []  # of `placed`: it is kept sorted by offset
    for i in order:
        offset = 0
        for j in placed:
            if buffers[j].last < buffers[i].first or buffers[i].last < buffers[j].first:
                continue
            if offsets[j] >= offset + sizes[i]:
                break
            offset = max(offset, offsets[j] + sizes[j])
        offsets[i] = offset
        at = bisect.bisect(keys, (offset, i))
        keys.insert(at, (offset, i))
        placed.insert(at, i)
    return offsets


def align(size: int) -> int:
    """Round up to where a buffer may end; an empty one still has a place."""
    return max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)


def _most_alive(buffers: Sequence[Lifetime], sizes: Sequence[int]) -> int:
    change: dict[int, int] = {}
    for buffer, size in zip(buffers, sizes, strict=True):
        change[buffer.first] = change.get(buffer.first, 0) + size
        change[buffer.last + 1] = change.get(buffer.last + 1, 0) - size
    alive = most = 0
    for step in sorted(change):
        alive += change[step]
        most = max(most, alive)
    return most
