"""`pin`: a call under one signature, whatever another would cost. pin_rules.py says beforehand whether that can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError
from oneop.registry import get_op
from oneop.runtime.after_import import after_import
from oneop.runtime.core import find_op
from oneop.sbp import placements
from oneop.sharding.pin_rules import check_call, read_words
from oneop.sharding.switched_off import check_switched_on

if TYPE_CHECKING:
    from oneop._core import Op


def pin(op: Op | str, signature: str | Sequence[str]) -> Callable[..., Any]:
    """Return the op with its signature fixed: `pin(op, "S(0), B -> S(0)")(x, w)`.

    DTensors are redistributed to the placements of the signature's inputs, by calls that torch records, so it works in
    backward and in torch.compile too. A mesh of several dimensions takes a list with a signature for each. A word
    stands for all tensors of an argument; axes may be counted from the end. Before anything moves or runs it raises
    `ArgumentError` for a signature or a call that cannot be meant, and `SbpError` where the op does not declare the
    signature, cannot run under it with these shapes, or DTensor cannot bring an input there.
    """
    name = op if isinstance(op, str) else getattr(op, "__name__", None)
    if not isinstance(name, str):
        raise ArgumentError(f"pin: expected an op or its name, found {op!r}")
    check_switched_on()
    definition, call = get_op(name), find_op(name)
    texts = _texts(name, signature)
    words = [read_words(definition, text) for text in texts]
    inputs = [arg.name for arg in definition.inputs]
    targets = [placements([signature[i] for signature in words]) for i in range(len(inputs))]

    def pinned(*args: Any, **attrs: Any) -> Any:
        tensors, named = _by_position(name, inputs, args, attrs)
        check = _check_traced if torch.compiler.is_compiling() else check_call
        check(name, texts, tensors, named)
        placed = [
            [_moved(tensor, target) for tensor in item] if isinstance(item, (list, tuple)) else _moved(item, target)
            for item, target in zip(tensors, targets, strict=True)
        ]
        return call(*placed, **named)

    return pinned


def _check_traced(name: str, texts: tuple[str, ...], args: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Check a call that torch.compile traces: it runs this as it is, on its fake tensors, once for each graph."""
    check_call(name, texts, args, attrs)


after_import("torch._dynamo", lambda module: module.allow_in_graph(_check_traced))


def _texts(name: str, signature: Any) -> tuple[str, ...]:
    texts = [signature] if isinstance(signature, str) else signature
    if isinstance(texts, (list, tuple)) and texts and all(isinstance(text, str) for text in texts):
        return tuple(texts)
    raise ArgumentError(
        f'pin: op "{name}": expected a signature, or a list with one for each dimension of the mesh, '
        f'found {signature!r}\n  write "S(0), B -> S(0)", with a word for each input and each output'
    )


def _by_position(
    name: str, inputs: Sequence[str], args: Sequence[Any], named: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Return the inputs in their order, those that were given by name too, and the rest of what was named."""
    if len(args) > len(inputs):
        raise ArgumentError(f'pin: op "{name}" takes {len(inputs)} inputs ({", ".join(inputs)}), found {len(args)}')
    rest = dict(named)
    placed = list(args)
    for i, own in enumerate(inputs):
        if i < len(args) and own in rest:
            raise ArgumentError(f'pin: op "{name}", input "{own}": it is given twice, by position and by name')
        if i >= len(args):
            placed.append(rest.pop(own, None))
    return placed, rest


def _moved(tensor: Any, target: Any) -> Any:
    if tensor is None or tuple(tensor.placements) == target:
        return tensor
    return tensor.redistribute(placements=target)
