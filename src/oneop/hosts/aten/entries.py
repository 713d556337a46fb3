"""What an entry of the table is, and torch's rules for the dtypes of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Entry:
    """An op of torch: `function(arrays, *arguments)`, with the arguments of torch's schema by position."""

    num_outputs: int
    function: Callable[..., Any]


#: Of dtypes: no numbers, whole ones, real ones, complex ones.
_BOOL, _WHOLE, _REAL, _COMPLEX = range(4)


@dataclass(frozen=True)
class Arrays:
    """Arrays of numpy or jax.numpy, with torch's promotion of dtypes."""

    xp: Any
    dtype_of: Callable[[str], Any]

    def to(self, x: Any, dtype: Any) -> Any:
        """Return the array with this dtype, or with the one that the framework has in its place."""
        wanted = self.dtype_of(dtype) if isinstance(dtype, str) else self.dtype_of(np.dtype(dtype).name)
        return x if hasattr(x, "dtype") and x.dtype == wanted else self.xp.asarray(x, dtype=wanted)

    def common(self, *values: Any) -> tuple[Any, ...]:
        """Return arrays and numbers as arrays of the dtype that torch's rules give.

        Arrays with dimensions decide; arrays without and numbers count only where they are of a higher kind.
        """
        ranked: list[Any] = [None, None, None]
        for value in values:
            is_array = hasattr(value, "dtype")
            rank = 2 if not is_array else 0 if value.ndim else 1
            dtype = np.dtype(value.dtype) if is_array else _dtype_of_number(value)
            ranked[rank] = dtype if ranked[rank] is None else _promoted(ranked[rank], dtype)
        result = ranked[0]
        for lower in ranked[1:]:
            if result is None or (lower is not None and _kind(lower) > _kind(result)):
                result = lower if result is None else _promoted(result, lower)
        return tuple(self.to(value, result) for value in values)

    def real(self, x: Any) -> Any:
        """Return the array, as float32 where its numbers are whole: torch's default dtype."""
        return self.to(x, np.float32) if _kind(np.dtype(x.dtype)) < _REAL else x


def _kind(dtype: Any) -> int:
    if dtype.kind == "b":
        return _BOOL
    if dtype.kind in "iu":
        return _WHOLE
    return _COMPLEX if dtype.kind == "c" else _REAL  # ml_dtypes' are of kind V or f


def _dtype_of_number(value: Any) -> Any:
    if isinstance(value, bool):
        return np.dtype(bool)
    if isinstance(value, int):
        return np.dtype(np.int64)
    return np.dtype(np.complex64 if isinstance(value, complex) else np.float32)


def _promoted(a: Any, b: Any) -> Any:
    if _kind(a) == _kind(b) or {_kind(a), _kind(b)} == {_REAL, _COMPLEX}:
        return np.promote_types(a, b)
    return a if _kind(a) > _kind(b) else b


def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """Return torch's `dim`, a number, a list or None, as axes."""
    if dim is None or dim == []:
        return tuple(range(ndim))
    return (dim,) if isinstance(dim, int) else tuple(dim)
