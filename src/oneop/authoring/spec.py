"""Shapes and dtypes as the author's functions see them. Sizes are ints, or torch.SymInt while torch traces."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from oneop.authoring.schema import Arg, Schema
from oneop.errors import CheckError

Size = int | torch.SymInt
#: One tensor as the core passes it.
RawSpec = tuple[tuple[Size, ...], torch.dtype]


@dataclass(frozen=True)
class TensorSpec:
    """What is known of a tensor before it is there."""

    shape: tuple[Size, ...]
    dtype: torch.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def numel(self) -> Size:
        """Return the number of elements."""
        return math.prod(self.shape)

    def like(self, *, shape: Iterable[Size] | None = None, dtype: torch.dtype | None = None) -> TensorSpec:
        """Return this spec with another shape or dtype."""
        return TensorSpec(self.shape if shape is None else tuple(shape), dtype or self.dtype)

    def __str__(self) -> str:
        """Return `float32[2, 3]`."""
        return f"{str(self.dtype).removeprefix('torch.')}{list(self.shape)}"


def group(args: Sequence[Arg], raw: Sequence[Sequence[RawSpec]]) -> list[Any]:
    """Return one entry for each argument: a spec, a list of specs, or None for an absent one."""
    grouped: list[Any] = []
    for arg, tensors in zip(args, raw, strict=True):
        specs = [TensorSpec(shape, dtype) for shape, dtype in tensors]
        grouped.append(specs if arg.is_list else specs[0] if specs else None)
    return grouped


def group_values(args: Sequence[Arg], counts: Sequence[int], values: Iterable[Any]) -> list[Any]:
    """The same for values, of which each argument has a count."""
    rest = iter(values)
    grouped: list[Any] = []
    for arg, count in zip(args, counts, strict=True):
        taken = [next(rest) for _ in range(count)]
        grouped.append(taken if arg.is_list else taken[0] if taken else None)
    return grouped


def flatten_result(schema: Schema, where: str, result: object, inputs: Sequence[Any], count: int) -> list[RawSpec]:
    """Return what inference gave as one (shape, dtype) for each of `count` output tensors. Raises `CheckError`."""
    dtype = next((spec.dtype for spec in _all_specs(inputs)), torch.float32)
    items: list[Any] | None
    single = count == 1 and (isinstance(result, TensorSpec) or _is_shape(result))
    items = [result] if single else _flat(result)
    if items is None or len(items) != count:
        amount = "nothing" if items is None else str(len(items))
        raise CheckError(
            f'op "{schema.name}": inference gave {amount}, expected {count} output{"s" if count != 1 else ""}\n'
            f"  return a shape or an oneop.TensorSpec for each{_how_many(schema)}\n  at {where}"
        )
    specs = []
    for item in items:
        spec = item if isinstance(item, TensorSpec) else TensorSpec(tuple(item), dtype) if _is_shape(item) else None
        if spec is None or not _is_shape(spec.shape) or not isinstance(spec.dtype, torch.dtype):
            raise CheckError(
                f'op "{schema.name}": inference gave {item!r}, expected a shape or an oneop.TensorSpec\n  at {where}'
            )
        specs.append((tuple(spec.shape), spec.dtype))
    return specs


def _how_many(schema: Schema) -> str:
    for arg in schema.outputs:
        if arg.is_list and arg.count_is_minimum:
            return f"; a call says how many tensors {arg.name} has: output_counts=[...]"
        if arg.is_optional:
            return f"; {arg.name} is there where a call says so: output_counts=[...], 0 or 1 for it"
    return ""


def _is_shape(value: object) -> bool:
    return isinstance(value, (tuple, list)) and all(
        isinstance(size, (int, torch.SymInt)) and not isinstance(size, bool) for size in value
    )


def _flat(result: object) -> list[Any] | None:
    if isinstance(result, TensorSpec):
        return [result]
    if not isinstance(result, (tuple, list)):
        return None
    items: list[Any] = []
    for item in result:
        nested = isinstance(item, list) and not _is_shape(item)
        items.extend(item) if nested else items.append(item)
    return items


def _all_specs(inputs: Sequence[Any]) -> Iterable[TensorSpec]:
    for entry in inputs:
        yield from entry if isinstance(entry, list) else [entry] if entry is not None else []


Attrs = Mapping[str, Any]

_watcher: ContextVar[set[str] | None] = ContextVar("attributes read", default=None)


@contextlib.contextmanager
def watching_attrs() -> Iterator[set[str]]:
    """Give the names of the attributes that authors' functions read in the block. What nobody read cannot matter."""
    seen: set[str] = set()
    token = _watcher.set(seen)
    try:
        yield seen
    finally:
        _watcher.reset(token)


def watched(attrs: Attrs) -> Attrs:
    """Return the attributes, so that reading one is noticed where somebody watches."""
    seen = _watcher.get()
    return attrs if seen is None else _Watched(attrs, seen)


class _Watched(Mapping[str, Any]):
    def __init__(self, values: Attrs, seen: set[str]) -> None:
        self._values = values
        self._seen = seen

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        self._seen.add(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values
