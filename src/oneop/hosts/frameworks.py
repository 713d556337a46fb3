"""Calls of torch's ops in gradients, `aten::mul.Tensor`, carried out with numpy or jax.numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneop.hosts.aten.table import TABLE, Arrays


@dataclass(frozen=True)
class Namespace:
    """What the functions of the table work with."""

    xp: Any  # numpy or jax.numpy
    dtype: Callable[[str], Any]  # by the ABI's name


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return numpy's dtype of this name; those that numpy lacks are ml_dtypes'."""
    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


NUMPY = Namespace(np, numpy_dtype)


def num_outputs(name: str) -> int | None:
    """Return how many tensors an op returns, -1 where its inputs decide, or None where the table has none."""
    entry = TABLE.get(name)
    return None if entry is None else entry.num_outputs


def call(space: Namespace, name: str, arguments: Sequence[Any]) -> list[Any]:
    """Call an op of the table; return its tensors."""
    entry = TABLE[name]
    arrays = Arrays(space.xp, space.dtype)
    if space.xp is np:
        with np.errstate(all="ignore"):  # torch says nothing either
            made = entry.function(arrays, *arguments)
    else:
        made = entry.function(arrays, *arguments)
    values = list(made) if isinstance(made, (list, tuple)) else [made]
    return [np.asarray(value) for value in values] if space.xp is np else values


def infer(name: str, arguments: list[tuple[str, Any]], specs: list[tuple[tuple[int, ...], str]]) -> list[Any]:
    """Return the specs of what a call gives for tensors like these, by calling it on zeros."""
    tensors = (np.broadcast_to(np.zeros((), numpy_dtype(dtype)), shape) for shape, dtype in specs)
    passed: list[Any] = []
    for kind, value in arguments:
        if kind == "blob":
            passed.append(next(tensors))
        elif kind == "blobs":
            passed.append([next(tensors) if blob >= 0 else None for blob in value])
        else:
            passed.append(value)
    return [(value.shape, value.dtype.name) for value in call(NUMPY, name, passed)]
