"""The tensors of a call, one entry for each input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def fit_gaps(subject: Subject, counts: Sequence[int], attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes in which those of lists with gaps say as many tensors as there are, after the same pattern."""
    fitted = dict(attrs)
    for arg, count in zip(subject.op.inputs, counts, strict=True):
        name = f"{arg.name}_given"
        flags = fitted.get(name) if arg.has_gaps else None
        if not isinstance(flags, (list, tuple)) or not flags or sum(flags) == count:
            continue
        pattern = [*flags, True] if not any(flags) else list(flags)
        fitted[name] = [] if count else [False] * len(flags)
        while sum(fitted[name]) < count:
            fitted[name].append(bool(pattern[len(fitted[name]) % len(pattern)]))
    return fitted


def fill_gaps(subject: Subject, grouped: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
    """Return the inputs as a caller gives them, with None in lists."""
    filled: list[Any] = []
    for arg, entry in zip(subject.op.inputs, grouped, strict=True):
        flags = attrs.get(f"{arg.name}_given") if arg.has_gaps else None
        rest = iter(entry if flags else ())
        filled.append([next(rest) if flag else None for flag in flags] if flags else entry)
    return filled
