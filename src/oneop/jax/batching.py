"""vmap: one call on the batch folded into an axis that the op may be split along, else a call for each element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
from jax.interpreters import batching

from oneop.hosts.engine import SPLIT, engine
from oneop.hosts.gradients import Call
from oneop.jax.primitive import call_p, described

Signature = list[tuple[int, int]]


def _batch(arrays: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list[Any], list[int]]:
    size = next(array.shape[dim] for array, dim in zip(arrays, dims, strict=True) if dim is not None)
    singles = [_without(array, dim) for array, dim in zip(arrays, dims, strict=True)]
    signature = _foldable(singles, dims, size, params) if size > 0 else None
    if signature is not None:
        return _folded(arrays, dims, size, signature, params)
    return _sequential(arrays, dims, params)


def _without(array: Any, dim: int | None) -> Any:
    shape = [length for i, length in enumerate(array.shape) if i != dim]
    return jax.ShapeDtypeStruct(shape, array.dtype)


def _foldable(singles: Sequence[Any], dims: Sequence[Any], size: int, params: dict[str, Any]) -> Signature | None:
    """Return a signature by which the folded call is the calls one after the other, or None.

    It splits all outputs and all arrays that are batched, and the folded call has it too.
    """
    single = described(singles, params)
    info = engine().op_info(single.name)
    if not info["has_sbp"] or info["random"] or info["side_effect"]:
        return None
    outputs = single.infer()
    for signature in _signatures(single, size):
        entries = signature[: len(singles)]
        if any(kind != SPLIT for kind, _ in signature[len(singles) :]) or not outputs:
            continue
        if any(dim is not None and kind != SPLIT for dim, (kind, _) in zip(dims, entries, strict=True)):
            continue
        folded = described([_fold_spec(x, entry, size) for x, entry in zip(singles, entries, strict=True)], params)
        wanted = [
            (_scaled(shape, axis, size), dtype)
            for (shape, dtype), (_, axis) in zip(outputs, signature[len(singles) :], strict=True)
        ]
        if signature in _signatures(folded, size) and folded.infer() == wanted:
            return signature
    return None


def _signatures(call: Call, size: int) -> list[Signature]:
    signatures: list[Signature] = engine().signatures(call.name, call.inputs, call.attrs, call.output_counts, size)
    return signatures


def _scaled(shape: Sequence[int], axis: int, size: int) -> tuple[int, ...]:
    return tuple(length * size if i == axis else length for i, length in enumerate(shape))


def _fold_spec(x: Any, entry: tuple[int, int], size: int) -> Any:
    kind, axis = entry
    return jax.ShapeDtypeStruct(_scaled(x.shape, axis, size), x.dtype) if kind == SPLIT else x


def _folded(
    arrays: Sequence[Any], dims: Sequence[Any], size: int, signature: Signature, params: dict[str, Any]
) -> tuple[list[Any], list[int]]:
    folded = []
    for array, dim, (kind, axis) in zip(arrays, dims, signature[: len(arrays)], strict=True):
        if kind != SPLIT:
            folded.append(array)
            continue
        batched = (
            jax.numpy.broadcast_to(jax.numpy.expand_dims(array, axis), (*array.shape[:axis], size, *array.shape[axis:]))
            if dim is None
            else jax.numpy.moveaxis(array, dim, axis)
        )
        shape = batched.shape
        folded.append(batched.reshape(*shape[:axis], math.prod(shape[axis : axis + 2]), *shape[axis + 2 :]))
    outputs = call_p.bind(*folded, **params)
    axes = [axis for _, axis in signature[len(arrays) :]]
    return [
        output.reshape(*output.shape[:axis], size, output.shape[axis] // size, *output.shape[axis + 1 :])
        for output, axis in zip(outputs, axes, strict=True)
    ], axes


def _sequential(arrays: Sequence[Any], dims: Sequence[Any], params: dict[str, Any]) -> tuple[list[Any], list[int]]:
    places = [i for i, dim in enumerate(dims) if dim is not None]
    moved = [jax.numpy.moveaxis(arrays[i], dims[i], 0) for i in places]

    def call(items: Sequence[Any]) -> list[Any]:
        operands = list(arrays)
        for place, item in zip(places, items, strict=True):
            operands[place] = item
        results: list[Any] = call_p.bind(*operands, **params)
        return results

    outputs = jax.lax.map(call, moved)
    return outputs, [0] * len(outputs)


batching.primitive_batchers[call_p] = _batch
