"""Ranges of input values that an op's kernels take, found by calls in a child process.

An op may refuse values, as a logarithm does that raises an error for negative ones. Where its author gave no `values`,
ranges are tried until one is taken, for one input after the other and then for all of them.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oneop.testing.memory.isolation import first_death
from oneop.testing.subject import Bounds

#: Away from their ends, so that a numerical derivative does not step over them: positive, between 0 and 1, between -1
#: and 1, and above 1.
RANGES: tuple[Bounds, ...] = ((0.0625, 4.0), (0.0625, 0.9375), (-0.9375, 0.9375), (1.0625, 4.0))
INTEGER_RANGES: tuple[Bounds, ...] = ((0, 9), (1, 9), (0, 1))
SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """The ranges of inputs by name; none where an op takes all values, or none of the ranges that were tried."""

    values: Mapping[str, Bounds] = field(default_factory=dict)
    refusal: str = ""  # what the op says of other values; empty if it takes any

    @property
    def note(self) -> str:
        """What the report says."""
        if not self.values:
            return f"the op refuses the values of every range that was tried: {self.refusal}; say some: values={{...}}"
        ranges = ", ".join(f"{name} from {low:g} to {high:g}" for name, (low, high) in self.values.items())
        return f"values drawn: {ranges}; of others the op says: {self.refusal}"


def find_accepted(names: Mapping[str, bool], call: Callable[[Mapping[str, Bounds]], None]) -> Accepted:
    """Return the ranges that an op takes.

    Args:
        names: its inputs without a range, and whether they are integers.
        call: calls the op with values of these ranges, and raises what it raises.
    """
    tried: list[dict[str, Bounds]] = [{}, *_candidates(names)]
    with tempfile.TemporaryDirectory() as folder:
        taken, refusal = Path(folder) / "taken", Path(folder) / "refusal"

        def search() -> None:
            for place, values in enumerate(tried):
                try:
                    call(values)
                except Exception as error:
                    if place == 0:
                        refusal.write_text(_said(error))
                    continue
                taken.write_text(str(place))
                return

        if first_death([search], seconds=SECONDS) is not None:
            return Accepted()  # the family `crashes` tells of it
        said = refusal.read_text() if refusal.is_file() else ""
        return Accepted(values=tried[int(taken.read_text())] if taken.is_file() else {}, refusal=said)


def _candidates(names: Mapping[str, bool]) -> list[dict[str, Bounds]]:
    """Return ranges for each input alone, then for all of them."""
    pairs = list(itertools.zip_longest(RANGES, INTEGER_RANGES, fillvalue=INTEGER_RANGES[-1]))
    candidates = []
    for floats, integers in pairs:
        by_name = {name: integers if is_integer else floats for name, is_integer in names.items()}
        groups: Sequence[Sequence[str]] = [[name] for name in names] if len(names) > 1 else []
        candidates += [{name: by_name[name] for name in group} for group in (*groups, list(names))]
    return candidates


def _said(error: Exception) -> str:
    """Return what the kernel said, without where it is."""
    first = (str(error).strip().splitlines() or [""])[0]
    return first.rpartition("Error: ")[2] or type(error).__name__
