"""Ops that move elements, choose some, or make new tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneop.hosts.aten.entries import Arrays, Entry

OPS: dict[str, Entry] = {}


def _add(name: str, function: Callable[..., Any], num_outputs: int = 1) -> None:
    OPS[f"aten::{name}"] = Entry(num_outputs, function)


def _expanded(a: Arrays, x: Any, size: list[int], *_: Any) -> Any:
    more = len(size) - x.ndim
    shape = [x.shape[i - more] if length == -1 else length for i, length in enumerate(size)]
    return a.xp.broadcast_to(x, shape)


def _squeezed(a: Arrays, x: Any, dim: Any = None) -> Any:
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return a.xp.squeeze(x, tuple(axis for axis in dims if x.ndim and x.shape[axis] == 1))


def _flattened(a: Arrays, x: Any, start: int = 0, end: int = -1) -> Any:
    shape = x.shape or (1,)
    start, end = start % len(shape), end % len(shape)
    return a.xp.reshape(x, (*shape[:start], -1, *shape[end + 1 :]))


for _name in ("reshape", "view", "_unsafe_view"):
    _add(_name, lambda a, x, shape: a.xp.reshape(x, tuple(shape)))
for _name in ("view_as", "reshape_as"):
    _add(_name, lambda a, x, other: a.xp.reshape(x, other.shape))
_add("expand", _expanded)
_add("broadcast_to", _expanded)
_add("expand_as", lambda a, x, other: a.xp.broadcast_to(x, other.shape))
_add("permute", lambda a, x, dims: a.xp.transpose(x, dims))
_add("transpose.int", lambda a, x, first, second: a.xp.swapaxes(x, first, second))
_add("t", lambda a, x: a.xp.transpose(x))
_add("unsqueeze", lambda a, x, dim: a.xp.expand_dims(x, dim))
_add("squeeze", _squeezed)
_add("squeeze.dim", _squeezed)
_add("squeeze.dims", _squeezed)
_add("flatten.using_ints", _flattened)
_add("cat", lambda a, tensors, dim=0: a.xp.concatenate(a.common(*tensors), axis=dim))
_add("stack", lambda a, tensors, dim=0: a.xp.stack(a.common(*tensors), axis=dim))
_add("flip", lambda a, x, dims: a.xp.flip(x, tuple(dims)))
_add("roll", lambda a, x, shifts, dims=None: a.xp.roll(x, tuple(shifts), tuple(dims) if dims else None))
_add("repeat", lambda a, x, repeats: a.xp.tile(x, tuple(repeats)))
_add("tril", lambda a, x, diagonal=0: a.xp.tril(x, diagonal))
_add("triu", lambda a, x, diagonal=0: a.xp.triu(x, diagonal))


def _slice(a: Arrays, x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _split(a: Arrays, x: Any, size: int, dim: int = 0) -> list[Any]:
    length = x.shape[dim]
    return [_slice(a, x, dim, at, min(at + size, length)) for at in range(0, max(length, 1), max(size, 1))]


def _chunk(a: Arrays, x: Any, chunks: int, dim: int = 0) -> list[Any]:
    return _split(a, x, -(-x.shape[dim] // chunks), dim)


def _split_sizes(a: Arrays, x: Any, sizes: list[int], dim: int = 0) -> list[Any]:
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [_slice(a, x, dim, end - size, end) for end, size in zip(ends, sizes, strict=True)]


_add("slice.Tensor", _slice)
_add("narrow", lambda a, x, dim, start, length: _slice(a, x, dim, start, start + length))
_add("select.int", lambda a, x, dim, index: x[(slice(None),) * (dim % x.ndim) + (index,)])
_add("split.Tensor", _split, -1)
_add("split_with_sizes", _split_sizes, -1)
_add("chunk", _chunk, -1)
_add("unbind.int", lambda a, x, dim=0: list(a.xp.moveaxis(x, dim, 0)), -1)
_add("index_select", lambda a, x, dim, index: a.xp.take(x, index, axis=dim))
_add("gather", lambda a, x, dim, index, *_: a.xp.take_along_axis(x, index, axis=dim))


def _index(a: Arrays, x: Any, indices: list[Any]) -> Any:
    return x[tuple(slice(None) if index is None else index for index in indices)]


def _sort(a: Arrays, x: Any, dim: int = -1, descending: bool = False) -> tuple[Any, Any]:
    order = a.xp.argsort(-x if descending else x, axis=dim, stable=True)
    return a.xp.take_along_axis(x, order, axis=dim), a.to(order, np.int64)


_add("index.Tensor", _index)
_add("sort", _sort, 2)
_add("argsort", lambda a, x, dim=-1, descending=False: _sort(a, x, dim, descending)[1])


def _full(a: Arrays, shape: list[int], value: Any, dtype: Any = None, *_: Any) -> Any:
    number = a.common(value)[0] if dtype is None else a.to(value, dtype)
    return a.xp.broadcast_to(number, tuple(shape))


def _full_like(a: Arrays, x: Any, value: Any, dtype: Any = None, *_: Any) -> Any:
    return a.xp.broadcast_to(a.to(value, x.dtype if dtype is None else dtype), x.shape)


_add("full", _full)
_add("full_like", _full_like)
for _name, _value in (("zeros", 0.0), ("ones", 1.0), ("empty", 0.0)):
    _add(_name, lambda a, shape, dtype=None, *_, value=_value: _full(a, shape, value, dtype))
    _add(f"{_name}_like", lambda a, x, dtype=None, *_, value=_value: _full_like(a, x, value, dtype))
_add("scalar_tensor", lambda a, value, dtype="float32", *_: a.to(value, dtype or "float32"))
