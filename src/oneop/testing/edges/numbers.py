"""Values at which ops decide: ties, thresholds, and numbers below or above every constant that stands for infinity.

Inputs share them, unlike other values of checks: `x == threshold` happens. What a dtype does not hold is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

#: "ties": quarters and halves up to 8, many of them equal; "thresholds": numbers at which functions change or end;
#: "low" and "high": rows far from zero of one sign; "masked": rows of masks that are all 0, and all 1.
EDGES = ("ties", "thresholds", "low", "high", "masked")
#: Of these fills the values are exact, so that results at a jump are known.
EXACT_EDGES = ("ties", "thresholds")

_SHORT = [number / 2 for number in range(-4, 5)]
_TIES = sorted(
    {number / 2 for number in range(-16, 17)}
    | {number / 4 for number in range(-8, 9)}
    | {number / 8 for number in range(-9, 10, 2)}
)
#: Where activations change, exponentials and integers of 8 bits end, and tables and approximations begin.
_THRESHOLDS = [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 6.5, 7, 8, 9, 10, 11, 12, 15, 16, 17, 20, 24, 25, 30, 31, 32]
_THRESHOLDS += [33, 40, 50, 60, 63.5, 64, 80, 85, 87, 88, 88.5, 89, 90, 100, 103, 104, 120, 126, 127, 127.5, 128]
_THRESHOLDS += [200, 254, 255, 256, 300, 500, 512, 700, 708, 709, 710, 745, 746, 1000, 1024]
#: The sizes of rows of "low" and "high", of one input and of several, whose products are as large: beyond 1e4 and 1e9.
_ROWS = {torch.float16: (2e4, 3e4), torch.float64: (2e4, 2e9, 1e60)}
_ROWS_OF_SEVERAL = {torch.float16: (150.0, 180.0), torch.float64: (3e2, 1e5, 1e30)}
_USUAL_ROWS, _USUAL_ROWS_OF_SEVERAL = (2e4, 2e9), (3e2, 1e5)
#: Added to seeds, for what inputs have in common.
_COMMON = 7919


def floats_at_edges(
    fill: str,
    shape: tuple[int, ...],
    *,
    seed: int,
    lane: tuple[int, int],
    dtype: torch.dtype,
    bounds: tuple[float, float] | None,
    among: Sequence[float],
) -> torch.Tensor:
    """Return values of one of these fills in float64.

    Args:
        fill: one of `EDGES`, not "masked".
        shape: the shape.
        seed: another number, other values.
        lane: the number of the input, and how many there are.
        dtype: what they are made for.
        bounds: lowest and highest value; those of "low" and "high" are between them anywhere.
        among: numbers that an op compares with.
    """
    if fill in EXACT_EDGES:
        return _exact(fill, shape, seed, lane, bounds, among)
    generator = torch.Generator().manual_seed(1000 * seed + lane[0])
    count = math.prod(shape)
    if bounds is not None:
        low, high = bounds
        return (low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)).view(shape)
    table, usual = (_ROWS, _USUAL_ROWS) if lane[1] == 1 else (_ROWS_OF_SEVERAL, _USUAL_ROWS_OF_SEVERAL)
    sizes = torch.tensor(table.get(dtype, usual), dtype=torch.float64)
    row = torch.arange(count) // max(shape[-1] if shape else 1, 1)
    # By odd seeds all rows are of the largest size: whatever axis is reduced, no small number is in it.
    sized = sizes[row % len(sizes)] if seed % 2 == 0 else sizes[-1]
    numbers = sized * (1 + torch.rand(count, generator=generator, dtype=torch.float64))
    # Negative times positive: products are of one sign too.
    is_negative = (lane[0] % 2 == 0) == (fill == "low")
    return (-numbers if is_negative else numbers).view(shape)


def _exact(
    fill: str,
    shape: tuple[int, ...],
    seed: int,
    lane: tuple[int, int],
    bounds: tuple[float, float] | None,
    among: Sequence[float],
) -> torch.Tensor:
    """Return ties or thresholds; about half of the elements are those of all inputs at this place."""
    count = math.prod(shape)
    row = torch.arange(count) // max(shape[-1] if shape else 1, 1)
    own, common = (torch.Generator().manual_seed(1000 * seed + number) for number in (lane[0], _COMMON))
    if fill == "ties":
        lists = [_between([*_SHORT, *among], bounds), _between([*_TIES, *among], bounds)]
    else:
        signed = [sign * number for number in (*_THRESHOLDS, *among) for sign in (1, -1)]
        lists = [_between(signed, bounds)] * 2

    def picked(generator: torch.Generator) -> torch.Tensor:
        short, long = (_cycled(numbers, count, generator) for numbers in lists)
        return torch.where(row % 2 == 0, short, long)

    mine, shared = picked(own), picked(common)
    is_shared = torch.rand(count, generator=own) < (0.5 if lane[1] > 1 else 0.0)
    return torch.where(is_shared, shared, mine).view(shape)


def _between(numbers: Sequence[float], bounds: tuple[float, float] | None) -> list[float]:
    if bounds is None:
        return sorted(set(numbers))
    low, high = bounds
    return sorted({number for number in numbers if low <= number <= high} | {low, high})


def _cycled(numbers: Sequence[float], count: int, generator: torch.Generator) -> torch.Tensor:
    """Return numbers of a list in some order, each once before any comes again."""
    times = -(-count // len(numbers))
    orders = [torch.randperm(len(numbers), generator=generator) for _ in range(times)]
    order = torch.cat(orders)[:count] if orders else torch.zeros(0, dtype=torch.int64)
    return torch.tensor(numbers, dtype=torch.float64)[order]


def integers_at_edges(
    fill: str,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    *,
    seed: int,
    lane: tuple[int, int],
    bounds: tuple[float, float] | None,
) -> torch.Tensor:
    """Return integers, or a mask of bool.

    Of "masked" the first row of three is all 0, the second all 1, and the others are some of both: lengths and indices
    that are bounded to less are so. Without rows the elements are taken for them.
    """
    generator = torch.Generator().manual_seed(1000 * seed + lane[0])
    if fill == "masked" or dtype == torch.bool:
        mask = torch.randint(0, 2, shape, generator=generator)
        rows = mask.view(-1, max(shape[-1], 1)) if len(shape) > 1 else mask.view(-1, 1)
        if fill == "masked" and mask.numel():
            rows[::3], rows[1::3] = 0, 1
        if bounds is not None and dtype != torch.bool:
            mask = mask.clamp(math.ceil(bounds[0]), max(math.floor(bounds[1]), math.ceil(bounds[0])))
        return mask.to(dtype)
    least, most = bounds or _integer_bounds(fill, dtype, seed)
    least, most = math.ceil(least), max(math.floor(most), math.ceil(least))
    return torch.randint(least, most + 1, shape, generator=generator).to(dtype)


def _integer_bounds(fill: str, dtype: torch.dtype, seed: int) -> tuple[int, int]:
    limits = torch.iinfo(dtype)
    far = 50_000 if seed % 2 == 0 or dtype != torch.int64 else 1 << 40
    if fill not in ("low", "high"):
        return max(limits.min, -2), 2
    end = max(limits.min, -far) if fill == "low" else min(limits.max, far)
    return (end, end // 2) if fill == "low" else (end // 2, end)
