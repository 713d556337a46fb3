"""The tensors of a call, one entry for each input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneop.testing.subject import Subject


def group_tensors(subject: Subject, counts: Sequence[int], tensors: Sequence[Any]) -> list[Any]:
    """Return one entry for each input argument: a tensor, a list of them, or None."""
    rest = iter(tensors)
    grouped: list[Any] = []
    for arg, count in zip(subject.op.inputs, counts, strict=True):
        taken = [next(rest) for _ in range(count)]
        is_list = arg.count != 1 or arg.count_is_minimum
        grouped.append(taken if is_list else taken[0] if taken else None)
    return grouped
