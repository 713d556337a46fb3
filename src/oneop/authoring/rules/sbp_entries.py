"""Signatures as entries of the plugin ABI, and those that named axes imply."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import oneop.sbp as words
from oneop.authoring.spec import TensorSpec

#: (kind, axis) with the plugin ABI's kinds.
Entry = tuple[int, int]
Signature = list[Entry]
BROADCAST: Entry = (words.BROADCAST, 0)
PARTIAL_SUM: Entry = (words.PARTIAL_SUM, 0)
#: (inputs, outputs, attributes) -> signatures; each has an entry for every tensor, inputs first.
SbpRule = Callable[[Sequence[Sequence[TensorSpec]], Sequence[Sequence[TensorSpec]], Mapping[str, Any]], list[Signature]]


def split(axis: int) -> Entry:
    """Return the entry of a tensor that is split along an axis."""
    return (words.SPLIT, axis)


def along_axes(
    names_of_inputs: Sequence[Sequence[str]],
    names_of_outputs: Sequence[Sequence[str]],
    is_mixed: Callable[[str], bool],
) -> list[Signature]:
    """Split each named axis that is not mixed wherever it is; a result that lacks it is a sum over it."""
    names = dict.fromkeys(name for axes in [*names_of_inputs, *names_of_outputs] for name in axes)
    bound = {name for axes in names_of_inputs for name in axes}
    signatures = []
    for name in names:
        if (
            name not in bound
            or is_mixed(name)
            or any(axes.count(name) > 1 for axes in [*names_of_inputs, *names_of_outputs])
        ):
            continue
        entries = [split(axes.index(name)) if name in axes else BROADCAST for axes in names_of_inputs]
        entries += [split(axes.index(name)) if name in axes else PARTIAL_SUM for axes in names_of_outputs]
        signatures.append(entries)
    return signatures
