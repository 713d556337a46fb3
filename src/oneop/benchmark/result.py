"""Figures as data: a table, JSON, two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from oneop.benchmark.timing import NOISY
from oneop.errors import ArgumentError

FORMAT = 2
FORWARD, BACKWARD = "forward", "backward"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One contender at one size. `what` is op, reference, copy, or a kernel's language and place."""

    direction: str
    what: str
    elements: int
    nbytes: int
    seconds: float  # the median
    minimum: float
    spread: float  # the distance between the quartiles
    matches: bool | None = None  # with the reference
    flops: int = 0
    problem: str = ""  # what it did while it was measured; see inspection.py

    @property
    def bandwidth(self) -> float:
        """Bytes per second, at the least time, as ratios are."""
        return self.nbytes / self.minimum

    @property
    def is_noisy(self) -> bool:
        """Whether the quartiles are far apart."""
        return self.spread > NOISY * self.seconds


@dataclass(frozen=True, kw_only=True)
class BenchResult:
    """All figures of one op."""

    op: str
    device: str
    dtype: str
    call: str
    rows: tuple[Row, ...]
    call_seconds: dict[str, float] = field(default_factory=dict)  # by direction: a call with next to no elements
    machine: dict[str, Any] = field(default_factory=dict)

    def sizes(self) -> list[int]:
        """Return the numbers of elements that were measured."""
        return sorted({row.elements for row in self.rows})

    def find(self, direction: str, what: str, elements: int) -> Row | None:
        """Return one row, or None."""
        for row in self.rows:
            if (row.direction, row.what, row.elements) == (direction, what, elements):
                return row
        return None

    def ratio(self, row: Row, to: str) -> float | None:
        """Return how many times the time of another contender a row takes, or None if it was not measured.

        The least times are compared: what else runs on the machine adds to medians, and not evenly.
        """
        other = self.find(row.direction, to, row.elements)
        return None if other is None else row.minimum / other.minimum

    @property
    def ok(self) -> bool:
        """Whether all results that were compared with the reference match it, and nothing else was wrong."""
        return all(row.matches is not False and not row.problem for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"format": FORMAT, **asdict(self)}

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(self.to_json(), indent=1))

    def table(self) -> list[list[str]]:
        """Return a line of cells for each row, as `HEADER` names them."""
        return [self._cells(row) for row in self.rows]

    def _cells(self, row: Row) -> list[str]:
        ratio, copies = self.ratio(row, "reference"), self.ratio(row, "copy")
        return [
            row.direction,
            f"{row.elements:,}",
            row.what,
            time_text(row.minimum),
            time_text(row.seconds),
            f"±{50 * row.spread / row.seconds:.0f} %{' !' if row.is_noisy else ''}",
            "" if ratio is None or row.what == "reference" else f"{ratio:.2f} x",
            "" if copies is None or row.what == "copy" else f"{100 / copies:.0f} %",
            "✗ wrong" if row.problem else {True: "✓", False: "✗ differs", None: ""}[row.matches],
        ]


HEADER = ["direction", "elements", "what", "min", "median", "spread", "vs ref", "vs copy", "match"]
NOISY_NOTE = "! the quartiles are more than 30 % apart: the machine was busy, measure again"


def load(path: Path) -> list[BenchResult]:
    """Read what `oneop bench --save` wrote. Raises `ArgumentError`."""
    try:
        content = json.loads(path.read_text())
        items = content if isinstance(content, list) else [content]
        if any(item["format"] != FORMAT for item in items):
            raise ValueError("another format")
        results = []
        for item in items:
            fields = {key: value for key, value in item.items() if key != "format"}
            results.append(BenchResult(**{**fields, "rows": tuple(Row(**row) for row in item["rows"])}))
        return results
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"{path} is no result of `oneop bench --save`: {error}") from None


def compare(old: Sequence[BenchResult], new: Sequence[BenchResult]) -> list[list[str]]:
    """Return a line of cells for each row that both runs have: op, direction, elements, what, times, ratio."""
    lines = []
    for after in new:
        kind = (after.op, after.device, after.dtype)
        before = next((result for result in old if (result.op, result.device, result.dtype) == kind), None)
        for row in after.rows:
            other = before.find(row.direction, row.what, row.elements) if before is not None else None
            if other is not None:
                ratio = row.seconds / other.seconds
                apart = abs(row.seconds - other.seconds) > row.spread + other.spread
                mark = "" if not apart else "faster" if ratio < 1 else "slower"
                cells = [time_text(other.seconds), time_text(row.seconds), f"{ratio:.2f} x", mark]
                lines.append([after.op, row.direction, f"{row.elements:,}", row.what, *cells])
    return lines


COMPARE_HEADER = ["op", "direction", "elements", "what", "before", "after", "ratio", "beyond the spread"]


def time_text(seconds: float) -> str:
    """Return a time with its unit."""
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size * 0.9995:  # three digits round what is left to the next unit
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"
