"""What the figures say, in words: how an op compares with its reference at each size, and what bounds it."""

from __future__ import annotations

from oneop.benchmark.result import BACKWARD, FORWARD, BenchResult, Row, time_text

#: Least times closer than this part of each other are alike.
ALIKE = 0.05


def verdict(result: BenchResult) -> list[str]:
    """Return a sentence for each direction and size."""
    rows = [row for row in result.rows if row.what == "op" or row.problem]
    return [sentence(result, row) for direction in (FORWARD, BACKWARD) for row in rows if row.direction == direction]


def sentence(result: BenchResult, row: Row) -> str:
    """Return `forward: 2.1x slower than the reference at 10,000 elements; compute-bound`."""
    size = f"{row.elements:,} element{'s' if row.elements != 1 else ''}"
    reference = result.find(row.direction, "reference", row.elements)
    if row.problem:
        who = "" if row.what == "op" else f" ({row.what})"
        return f"{row.direction}: {row.problem}, at {size}{who}; its time says nothing"
    if row.matches is False:
        return f"{row.direction}: the result differs from the reference at {size}"
    if reference is None:
        text = f"{row.direction}: {time_text(row.seconds)} at {size}, with no reference to compare with"
    else:
        text = f"{row.direction}: {_ratio_text(row, reference)} at {size}"
    bound = bound_of(result, row)
    is_noisy = row.is_noisy or (reference is not None and reference.is_noisy)
    return text + (f"; {bound}" if bound else "") + (" (noisy)" if is_noisy else "")


def _ratio_text(row: Row, reference: Row) -> str:
    ratio = row.minimum / reference.minimum
    if abs(ratio - 1) <= ALIKE:
        return "as fast as the reference"
    factor = max(ratio, 1 / ratio)
    digits = f"{factor:.1f}" if factor < 10 else f"{factor:.0f}"
    return f"{digits}x {'slower' if ratio > 1 else 'faster'} than the reference"


def bound_of(result: BenchResult, row: Row) -> str:
    """Return what takes most of the time: the call itself, moving bytes, or computing; "" if it is not known."""
    call_seconds = result.call_seconds.get(row.direction)
    if call_seconds is not None and call_seconds > row.minimum / 2:
        return "call-bound"
    copies = result.ratio(row, "copy")
    if call_seconds is not None and copies is not None and copies <= 2:
        return "memory-bound"
    return "" if call_seconds is None else "compute-bound"
