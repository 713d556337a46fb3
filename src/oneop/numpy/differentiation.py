"""Gradients of calls on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneop.errors import ArgumentError, described
from oneop.hosts.engine import engine
from oneop.hosts.frameworks import NUMPY
from oneop.hosts.gradients import Call, Gradient

Pullback = Callable[..., tuple[Any, ...]]


def vjp(op: Callable[..., Any], /, *inputs: Any, **attrs: Any) -> tuple[Any, Pullback]:
    """Call an op and return `(outputs, pullback)`.

    `pullback(*cotangents)` takes an array, or None for zeros, for each output and returns a tuple with the gradient of
    each input of the op: an array, a list of them for a list, None for one that has no gradient. It reads the arrays of
    the call again: leave them as they are until then. Raises `GradientNotFoundError` if the library has none.
    """
    name = getattr(op, "__name__", None)
    if not isinstance(op, engine().Op) or name is None:
        raise ArgumentError(f"vjp: expected an op of oneop.numpy.load, found {described(op)}")
    tensors, words, counts = engine().bind(name, inputs, attrs)
    outputs = op(*inputs, **attrs)
    arrays = [_native(np.asarray(tensor)) for group in tensors for tensor in group]
    specs = tuple(tuple((np.asarray(x).shape, np.asarray(x).dtype.name) for x in group) for group in tensors)
    called = Call(name, specs, words, tuple(counts))
    gradient = Gradient.of(called, [True] * called.num_inputs)
    made = list(outputs) if isinstance(outputs, tuple) else [outputs]

    def pullback(*cotangents: Any) -> tuple[Any, ...]:
        grads = _checked(name, made, cotangents)
        blobs = dict(enumerate([*arrays, *made]))
        return _by_input(called, gradient.run(blobs, len(blobs), grads, engine().run, NUMPY))

    return outputs, pullback


def _checked(name: str, outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """Return a cotangent for each output."""
    if len(cotangents) != len(outputs):
        raise ArgumentError(f'op "{name}": its pullback takes {len(outputs)} cotangents, found {len(cotangents)}')
    grads = []
    for i, (output, cotangent) in enumerate(zip(outputs, cotangents, strict=True)):
        grad = np.zeros_like(output) if cotangent is None else _native(np.asarray(cotangent))
        if grad.shape != output.shape or grad.dtype != output.dtype:
            raise ArgumentError(
                f'op "{name}", cotangent {i}: expected {output.dtype.name}{list(output.shape)}, '
                f"found {grad.dtype.name}{list(grad.shape)}"
            )
        grads.append(grad)
    return grads


def _native(array: Any) -> Any:
    """Return the array in the byte order of this machine, as inputs are taken."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _by_input(called: Call, grads: Sequence[Any]) -> tuple[Any, ...]:
    info = engine().op_info(called.name)
    nested = called.nested(grads)
    return tuple(
        group if arg["count"] != 1 or arg["count_is_minimum"] else (group[0] if group else None)
        for arg, group in zip(info["inputs"], nested, strict=True)
    )
