"""What a call is on one device: the sizes of shards, and attributes that hold sizes of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

Shape = tuple[int, ...]


def chunk_sizes(size: int, parts: int) -> list[int]:
    """Return the sizes of the parts that DTensor makes of an axis: equal ones, then what is left, then nothing."""
    step = -(-size // parts)
    return [max(0, min(step, size - i * step)) for i in range(parts)]


def local_attrs(
    overload: Any,
    tensors: Sequence[Any],
    attrs: Mapping[str, Any],
    whole: Sequence[Shape],
    wanted: Sequence[Shape],
) -> dict[str, Any] | None:
    """Return the attributes with which the op gives outputs of the `wanted` shapes for the tensors of one device.

    Mostly these are `attrs`. Where an attribute holds a size or shape of the whole output, it becomes that of the
    part. None where nothing fits: the op cannot run on these parts. `tensors` has what the op takes, on any device;
    only shapes matter. `whole` are the shapes of the whole outputs.
    """
    metas = [_meta(item) for item in tensors]
    for changed in _candidates(attrs, whole, wanted):
        given = {**attrs, **changed}
        try:
            outputs = overload(*metas, **given)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, LookupError):
            continue  # this op refuses such parts, or such an attribute
        if [tuple(output.shape) for output in flatten(outputs)] == [tuple(shape) for shape in wanted]:
            return changed
    return None


def flatten(results: Any) -> list[torch.Tensor]:
    """Return the tensors that a call gave."""
    if isinstance(results, torch.Tensor):
        return [results]
    return [] if results is None else [tensor for tensor in results if tensor is not None]


def _meta(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return [_meta(one) for one in item]
    return None if item is None else torch.empty(tuple(item.shape), dtype=item.dtype, device="meta")


def _candidates(attrs: Mapping[str, Any], whole: Sequence[Shape], wanted: Sequence[Shape]) -> list[dict[str, Any]]:
    """Return changes to try: none, each attribute that may hold a size, all of these."""
    changes: dict[str, Any] = {}
    for name, value in attrs.items():
        for large, small in zip(whole, wanted, strict=True):
            if large == small:
                continue
            if isinstance(value, (list, tuple)) and len(value) == len(large):
                part = [s if v == w else v for v, w, s in zip(value, large, small, strict=True)]
                if part != list(value):
                    changes[name] = part
            elif isinstance(value, int) and not isinstance(value, bool):
                for w, s in zip(large, small, strict=True):
                    if w != s and value == w:
                        changes[name] = s
    single = [{name: value} for name, value in changes.items()]
    return [{}, *single, changes] if len(changes) > 1 else [{}, *single]
