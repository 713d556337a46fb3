"""Ops that sum up, or look for the largest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneop.hosts.aten.entries import Arrays, Entry, axes_of

OPS: dict[str, Entry] = {}


def _add(name: str, function: Callable[..., Any], num_outputs: int = 1) -> None:
    OPS[f"aten::{name}"] = Entry(num_outputs, function)


def _summed(a: Arrays, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    is_whole = np.dtype(x.dtype).kind in "biu"
    x = a.to(x, dtype if dtype is not None else np.int64 if is_whole else x.dtype)
    return a.to(a.xp.sum(x, axis=axes_of(dim, x.ndim), keepdims=keepdim), x.dtype)


def _mean(a: Arrays, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    x = x if dtype is None else a.to(x, dtype)
    return a.to(a.xp.mean(x, axis=axes_of(dim, x.ndim), keepdims=keepdim), x.dtype)


def _over_axes(name: str) -> Callable[..., Any]:
    return lambda a, x, dim=None, keepdim=False: getattr(a.xp, name)(x, axis=axes_of(dim, x.ndim), keepdims=keepdim)


_add("sum", lambda a, x, dtype=None: _summed(a, x, dtype=dtype))
_add("sum.dim_IntList", _summed)
_add("mean", lambda a, x, dtype=None: _mean(a, x, dtype=dtype))
_add("mean.dim", _mean)
_add("amax", _over_axes("max"))
_add("amin", _over_axes("min"))
_add("max", lambda a, x: a.xp.max(x))
_add("min", lambda a, x: a.xp.min(x))
_add("prod", lambda a, x, dtype=None: a.xp.prod(x if dtype is None else a.to(x, dtype)))
_add("any", lambda a, x: a.xp.any(x))
_add("any.dim", _over_axes("any"))
_add("all", lambda a, x: a.xp.all(x))
_add("all.dim", _over_axes("all"))


def _index_of(name: str) -> Callable[..., Any]:
    def function(a: Arrays, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
        return a.to(getattr(a.xp, name)(x, axis=dim, keepdims=keepdim), np.int64)

    return function


def _largest(name: str) -> Callable[..., Any]:
    def function(a: Arrays, x: Any, dim: int, keepdim: bool = False) -> Any:
        index = getattr(a.xp, f"arg{name}")(x, axis=dim, keepdims=keepdim)
        return getattr(a.xp, name)(x, axis=dim, keepdims=keepdim), a.to(index, np.int64)

    return function


_add("argmax", _index_of("argmax"))
_add("argmin", _index_of("argmin"))
_add("max.dim", _largest("max"), 2)
_add("min.dim", _largest("min"), 2)
_add("cumsum", lambda a, x, dim, dtype=None: a.xp.cumsum(x if dtype is None else a.to(x, dtype), axis=dim))
_add("cumprod", lambda a, x, dim, dtype=None: a.xp.cumprod(x if dtype is None else a.to(x, dtype), axis=dim))


def _exp_of_rest(a: Arrays, x: Any, dim: Any) -> Any:
    return a.xp.exp(x - a.xp.max(x, axis=dim, keepdims=True))


def _softmax(a: Arrays, x: Any, dim: int, *_: Any) -> Any:
    powers = _exp_of_rest(a, x, dim)
    return powers / a.xp.sum(powers, axis=dim, keepdims=True)


def _log_softmax(a: Arrays, x: Any, dim: int, *_: Any) -> Any:
    rest = x - a.xp.max(x, axis=dim, keepdims=True)
    return rest - a.xp.log(a.xp.sum(a.xp.exp(rest), axis=dim, keepdims=True))


def _logsumexp(a: Arrays, x: Any, dim: Any, keepdim: bool = False) -> Any:
    axes = axes_of(dim, x.ndim)
    total = a.xp.log(a.xp.sum(_exp_of_rest(a, x, axes), axis=axes, keepdims=True)) + a.xp.max(
        x, axis=axes, keepdims=True
    )
    return total if keepdim else a.xp.squeeze(total, axes)


for _name in ("softmax.int", "_softmax"):
    _add(_name, _softmax)
for _name in ("log_softmax.int", "_log_softmax"):
    _add(_name, _log_softmax)
_add("logsumexp", _logsumexp)
_add("_softmax_backward_data", lambda a, dy, y, dim, *_: y * (dy - a.xp.sum(dy * y, axis=dim, keepdims=True)))
_add(
    "_log_softmax_backward_data",
    lambda a, dy, y, dim, *_: dy - a.xp.exp(y) * a.xp.sum(dy, axis=dim, keepdims=True),
)
