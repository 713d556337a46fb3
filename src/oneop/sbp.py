"""How a tensor lies on several devices: split along an axis, broadcast (each has all of it), or as parts of a sum.

    oneop.sbp.split(0)    oneop.sbp.broadcast    oneop.sbp.partial_sum

These are DTensor's Shard, Replicate and Partial; `placements` turns one into the other. Partial has other reductions
too: `partial_max`, `partial_min` and `partial_avg`, written P(max), P(min) and P(avg).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from oneop.errors import ArgumentError

if TYPE_CHECKING:
    import torch
    from torch.distributed.tensor.placement_types import Placement

#: The plugin ABI's kinds, and those that only Python has.
SPLIT, BROADCAST, PARTIAL_SUM = 1, 2, 3
PARTIAL_MAX, PARTIAL_MIN, PARTIAL_AVG = 101, 102, 103
#: How the parts of a tensor are reduced, in DTensor's words.
REDUCTIONS = {PARTIAL_SUM: "sum", PARTIAL_MAX: "max", PARTIAL_MIN: "min", PARTIAL_AVG: "avg"}
_KINDS = {reduction: kind for kind, reduction in REDUCTIONS.items()}


@dataclass(frozen=True)
class Sbp:
    """One of these; `axis` is that of a split."""

    kind: int
    axis: int = 0

    @property
    def is_partial(self) -> bool:
        """Whether each device has a part that is reduced with the others."""
        return self.kind in REDUCTIONS

    def __str__(self) -> str:
        """Return S(axis), B, P or P(max), as signatures are written."""
        if self.kind == SPLIT:
            return f"S({self.axis})"
        if self.kind == BROADCAST:
            return "B"
        return "P" if self.kind == PARTIAL_SUM else f"P({REDUCTIONS.get(self.kind, '?')})"

    def __repr__(self) -> str:
        """Return what makes it."""
        if self.is_partial:
            return f"oneop.sbp.partial_{REDUCTIONS[self.kind]}"
        return "oneop.sbp.broadcast" if self.kind == BROADCAST else f"oneop.sbp.split({self.axis})"


broadcast = Sbp(BROADCAST)
partial_sum = Sbp(PARTIAL_SUM)
partial_max = Sbp(PARTIAL_MAX)
partial_min = Sbp(PARTIAL_MIN)
partial_avg = Sbp(PARTIAL_AVG)


def split(axis: int) -> Sbp:
    """Return the split along an axis; as torch has it, the first parts are the larger ones."""
    return Sbp(SPLIT, axis)


def parse(text: str) -> Sbp:
    """Return what S(axis), B, P or P(max) stands for. Raises `ArgumentError`."""
    match = re.fullmatch(r"\s*(?:S\((-?\d+)\)|B|P(?:\((sum|max|min|avg)\))?)\s*", text)
    if match is None:
        raise ArgumentError(f'expected S(axis), B or P, found "{text}"')
    if match[1]:
        return split(int(match[1]))
    return broadcast if text.strip() == "B" else Sbp(_KINDS[match[2] or "sum"])


def placements(sbp: Sbp | str | Sequence[Sbp | str]) -> tuple[Placement, ...]:
    """Return DTensor's placements, one for each dimension of the mesh. Raises `ArgumentError`."""
    from torch.distributed.tensor import Partial, Replicate, Shard

    entries = [sbp] if isinstance(sbp, (Sbp, str)) else list(sbp)
    placed: list[Placement] = []
    for entry in entries:
        word = parse(entry) if isinstance(entry, str) else entry
        if not isinstance(word, Sbp):
            raise ArgumentError(f"sbp: expected oneop.sbp.split(axis), broadcast or partial_sum, found {entry!r}")
        if word.is_partial:
            placed.append(Partial(REDUCTIONS[word.kind]))
        else:
            placed.append(Shard(word.axis) if word.kind == SPLIT else Replicate())
    return tuple(placed)


def of_placements(placed: Sequence[Placement]) -> tuple[Sbp, ...]:
    """Return what DTensor's placements are called here. Raises `ArgumentError` for those that have no name.

    A strided split (FSDP over tensor parallelism makes them) is a split of its axis.
    """
    from torch.distributed.tensor.placement_types import Partial

    words = []
    for placement in placed:
        axis = split_axis(placement)
        if axis is not None:
            words.append(split(axis))
        elif placement.is_replicate():
            words.append(broadcast)
        elif type(placement) is Partial and placement.reduce_op in _KINDS:
            words.append(Sbp(_KINDS[placement.reduce_op]))
        else:
            raise ArgumentError(
                f"{placement} is not a split, a broadcast or a partial sum\n"
                "  redistribute the tensor first: x.redistribute(placements=[Replicate()])"
            )
    return tuple(words)


def has_no_mean(entry: Sbp | Placement, dtype: torch.dtype) -> bool:
    """Tell whether this is a P(avg) of a dtype that cannot hold means: integers and bool."""
    is_mean = entry.kind == PARTIAL_AVG if isinstance(entry, Sbp) else getattr(entry, "reduce_op", None) == "avg"
    return is_mean and not (dtype.is_floating_point or dtype.is_complex)


#: What to do about it.
NO_MEAN = "a mean of integers is no integer: make it a float tensor, or use P, P(max) or P(min)"


def split_axis(placement: Placement) -> int | None:
    """Return the axis that a placement splits, strided or not; None for one that does not split."""
    from torch.distributed.tensor.placement_types import Shard, _StridedShard

    return int(placement.dim) if isinstance(placement, (Shard, _StridedShard)) else None
