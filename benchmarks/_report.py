"""What a section hands back, and how it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks._timing import Timing, find, tell


@dataclass(frozen=True, kw_only=True)
class Table:
    """Contenders side by side. Ratios are to the contender named `base`."""

    title: str
    timings: Sequence[Timing]
    base: str
    unit: str = "us"
    note: str = ""
    by_median: bool = False

    def __post_init__(self) -> None:
        tell(f"  measured: {self.title}")

    def ratio(self, name: str, to: str) -> float | None:
        """Return best time of one over best time of another, or None if one of them did not take part."""
        timing, other = find(self.timings, name), find(self.timings, to)
        if timing is None or other is None:
            return None
        return timing.median / other.median if self.by_median else timing.best / other.best


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A promise, and what was measured. `found` is None where it could not be measured."""

    text: str
    limit: float
    found: float | None
    unit: str = "x"
    at_least: bool = False

    @property
    def holds(self) -> bool | None:
        if self.found is None:
            return None
        return self.found >= self.limit if self.at_least else self.found <= self.limit


@dataclass(kw_only=True)
class Section:
    """All that one part of the benchmark found."""

    name: str
    title: str
    tables: list[Table] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        tell(f"{self.name}: {self.title} ...")

    def as_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "tables": [
                {
                    "title": table.title,
                    "base": table.base,
                    "seconds": {
                        timing.name: {"best": timing.best, "median": timing.median, "spread": timing.spread}
                        for timing in table.timings
                    },
                }
                for table in self.tables
            ],
            "bars": [{**asdict(bar), "holds": bar.holds} for bar in self.bars],
            "notes": self.notes,
        }


SCALES = {"us": 1e6, "ms": 1e3, "s": 1.0}


def print_section(section: Section) -> None:
    print(f"\n{section.name}: {section.title}")
    for table in section.tables:
        _print_table(table)
    for note in section.notes:
        print(f"  note: {note}")


def print_bars(sections: Sequence[Section]) -> None:
    """Print every bar with what was found; information, never a reason to fail."""
    bars = [bar for section in sections for bar in section.bars]
    if not bars:
        return
    print("\nbars")
    width = max(len(bar.text) for bar in bars)
    for bar in bars:
        mark = {True: "ok    ", False: "MISSED", None: "absent"}[bar.holds]
        sign = ">=" if bar.at_least else "<="
        shown = "-" if bar.found is None else f"{bar.found:.3g} {bar.unit}"
        print(f"  {mark}  {bar.text:{width}}  {sign} {bar.limit:g} {bar.unit:3} found {shown}")


def _print_table(table: Table) -> None:
    print(f"\n  {table.title}")
    width = max(len(timing.name) for timing in table.timings)
    print(f"    {'':{width}}  {'best':>9}  {'median':>9}  {'spread':>6}  x {table.base}")
    scale = SCALES[table.unit]
    for timing in table.timings:
        ratio = table.ratio(timing.name, table.base)
        ratio_text = "" if ratio is None else f"{ratio:.2f}"
        times = f"{timing.best * scale:9.3f}  {timing.median * scale:9.3f}  {timing.spread:6.0%}"
        print(f"    {timing.name:{width}}  {times}  {ratio_text}")
    print(f"    {table.unit}{'; ' + table.note if table.note else ''}")
