"""How a tensor lies on several devices: split along an axis, broadcast (each has all of it), or as parts of a sum.

    oneop.sbp.split(0)    oneop.sbp.broadcast    oneop.sbp.partial_sum

These are DTensor's Shard, Replicate and Partial; `placements` turns one into the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneop.errors import ArgumentError

if TYPE_CHECKING:
    from torch.distributed.tensor.placement_types import Placement

#: The plugin ABI's kinds.
SPLIT, BROADCAST, PARTIAL_SUM = 1, 2, 3


@dataclass(frozen=True)
class Sbp:
    """One of the three; `axis` is that of a split."""

    kind: int
    axis: int = 0

    def __str__(self) -> str:
        """Return S(axis), B or P, as signatures are written."""
        return f"S({self.axis})" if self.kind == SPLIT else "B" if self.kind == BROADCAST else "P"

    def __repr__(self) -> str:
        """Return what makes it."""
        names = {BROADCAST: "oneop.sbp.broadcast", PARTIAL_SUM: "oneop.sbp.partial_sum"}
        return names.get(self.kind, f"oneop.sbp.split({self.axis})")


broadcast = Sbp(BROADCAST)
partial_sum = Sbp(PARTIAL_SUM)


def split(axis: int) -> Sbp:
    """Return the split along an axis; as torch has it, the first parts are the larger ones."""
    return Sbp(SPLIT, axis)


def parse(text: str) -> Sbp:
    """Return what S(axis), B or P stands for. Raises `ArgumentError`."""
    match = re.fullmatch(r"\s*(?:S\((-?\d+)\)|([BP]))\s*", text)
    if match is None:
        raise ArgumentError(f'expected S(axis), B or P, found "{text}"')
    return split(int(match[1])) if match[1] else broadcast if match[2] == "B" else partial_sum


def placements(sbp: Sbp | str | Sequence[Sbp | str]) -> tuple[Placement, ...]:
    """Return DTensor's placements, one for each dimension of the mesh. Raises `ArgumentError`."""
    from torch.distributed.tensor import Partial, Replicate, Shard

    entries = [sbp] if isinstance(sbp, (Sbp, str)) else list(sbp)
    found: list[Placement] = []
    for entry in entries:
        one = parse(entry) if isinstance(entry, str) else entry
        if not isinstance(one, Sbp):
            raise ArgumentError(f"sbp: expected oneop.sbp.split(axis), broadcast or partial_sum, found {entry!r}")
        found.append(Shard(one.axis) if one.kind == SPLIT else Replicate() if one.kind == BROADCAST else Partial())
    return tuple(found)


def of_placements(given: Sequence[Placement]) -> tuple[Sbp, ...]:
    """Return what DTensor's placements are called here. Raises `ArgumentError` for those that have no name."""
    found = []
    for placement in given:
        if placement.is_replicate():
            found.append(broadcast)
        elif placement.is_partial() and getattr(placement, "reduce_op", "sum") == "sum":
            found.append(partial_sum)
        elif placement.is_shard():
            found.append(split(placement.dim))  # type: ignore[attr-defined]
        else:
            raise ArgumentError(f"{placement} is not a split, a broadcast or a partial sum")
    return tuple(found)
