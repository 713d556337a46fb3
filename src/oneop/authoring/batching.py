"""How ops run on batches: `register_vmap`, in torch's form, and rules that follow from what is known already.

An op that splits along an axis does the same to each part of it. So a batch is put along that axis, the op runs once,
and its outputs are cut: where a signature splits every tensor, it gives a rule for vmap. Where none does, the op runs
once for each example.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from oneop._runtime import core, find_op
from oneop.sbp import SPLIT, Sbp

#: The rule of each op that has one. torch asks through one function for each name, for ever.
_rules: dict[str, Callable[..., Any]] = {}
_written: set[str] = set()  # ops whose author wrote the rule


def set_rule(name: str, rule: Callable[..., Any]) -> None:
    """Use an author's `rule(info, in_dims, *inputs, **attrs) -> (outputs, out_dims)` for this op."""
    _written.add(name)
    _use(name, rule)


def forget_rule(name: str) -> None:
    """Drop the rule of an op that is defined anew."""
    _written.discard(name)
    if name in _rules:  # torch has it and cannot drop it
        _rules[name] = split_rule(name, find_op(name))


def use_default(name: str, rule: Callable[..., Any]) -> None:
    """Use a rule unless the author wrote one."""
    if name not in _written:
        _use(name, rule)


def derive_rule(name: str) -> None:
    """Use the rule that follows from the signatures, unless the author wrote one."""
    info = core().op_info(name)
    if not any(arg["is_mutable"] for arg in info["inputs"]) and info["inputs"]:
        use_default(name, split_rule(name, find_op(name)))


def _use(name: str, rule: Callable[..., Any]) -> None:
    is_new = name not in _rules
    _rules[name] = rule
    if is_new:
        torch.library.register_vmap(f"oneop::{name}", lambda *args, **kwargs: _rules[name](*args, **kwargs))


def elementwise_rule(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of an elementwise op: a batch is one axis more, and what has none is repeated along it."""

    def rule(info: Any, in_dims: Any, *inputs: Any, **attrs: Any) -> Any:
        batched = _mapped(inputs, in_dims, lambda value, dim: _to_front(value, dim, info.batch_size))
        outputs = op(*batched, **attrs)
        return outputs, 0 if isinstance(outputs, torch.Tensor) else tuple(0 for _ in outputs)

    return rule


def has_rule(name: str) -> bool:
    """Tell whether an op has a rule; others run once for each element of a batch."""
    return name in _rules


def split_rule(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule that follows from a signature which splits every tensor."""

    def rule(info: Any, in_dims: Any, *inputs: Any, **attrs: Any) -> Any:
        size: int = info.batch_size
        fronts = _mapped(inputs, in_dims, lambda value, dim: _to_front(value, dim, size))
        examples = _mapped(fronts, None, lambda value, _: value[0])
        found = _splits(name, examples, attrs)
        outputs = None if found is None else _run_joined(op, fronts, found, size, attrs)
        if outputs is None:
            outputs = _run_each(op, fronts, size, attrs)
        if isinstance(outputs, torch.Tensor):
            return outputs, 0
        return outputs, tuple(0 for _ in outputs)

    return rule


def _splits(name: str, examples: Sequence[Any], attrs: dict[str, Any]) -> tuple[Sbp, ...] | None:
    """Return the first signature that splits every tensor of a call."""
    from oneop.registry import get_op
    from oneop.signatures import declared_signatures, default_output_counts

    definition = get_op(name)
    groups = [[] if item is None else list(item) if isinstance(item, (list, tuple)) else [item] for item in examples]
    groups += [[] for _ in range(len(definition.inputs) - len(groups))]
    specs = [[(tuple(tensor.shape), tensor.dtype) for tensor in tensors] for tensors in groups]
    counts = [int(n) for n in attrs.get("output_counts") or default_output_counts(definition)]
    known = {attr.name for attr in definition.attrs}
    given = {key: value for key, value in attrs.items() if key in known}
    if len(given) != len([key for key in attrs if key not in ("output_counts", "device")]):
        return None  # an attribute with another name in torch
    signatures = declared_signatures(name, specs, counts, given).signatures
    return next((one for one in signatures if all(sbp.kind == SPLIT for sbp in one)), None)


def _run_joined(
    op: Callable[..., Any], fronts: Sequence[Any], signature: Sequence[Sbp], size: int, attrs: dict[str, Any]
) -> Any:
    """Run once with the batch along the split axis; None where the outputs do not come apart again."""
    entries = iter(signature)

    def join(value: torch.Tensor, _: object) -> torch.Tensor:
        axis = next(entries).axis
        return value.movedim(0, axis).flatten(axis, axis + 1)

    joined = _mapped(fronts, None, join)
    results = op(*joined, **attrs)
    parts = []
    for output in [results] if isinstance(results, torch.Tensor) else results:
        axis = next(entries).axis
        if output.shape[axis] % size:
            return None
        parts.append(output.unflatten(axis, (size, output.shape[axis] // size)).movedim(axis, 0))
    return parts[0] if isinstance(results, torch.Tensor) else type(results)(parts)


def _run_each(op: Callable[..., Any], fronts: Sequence[Any], size: int, attrs: dict[str, Any]) -> Any:
    results = []
    for i in range(size):
        examples = _mapped(fronts, [i] * len(fronts), lambda value, number: value[number])
        results.append(op(*examples, **attrs))
    if isinstance(results[0], torch.Tensor):
        return torch.stack(results)
    return type(results[0])(torch.stack(tensors) for tensors in zip(*results, strict=True))


def _to_front(value: torch.Tensor, dim: int | None, size: int) -> torch.Tensor:
    return value.expand(size, *value.shape) if dim is None else value.movedim(dim, 0)


def _mapped(values: Sequence[Any], dims: Any, act: Callable[[torch.Tensor, Any], torch.Tensor]) -> list[Any]:
    """Apply `act(tensor, dim)` to each tensor; `dims` has the form of `values`, or is None for all."""

    def one(value: Any, dim: Any) -> Any:
        if isinstance(value, (list, tuple)):
            each = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
            return [one(item, item_dim) for item, item_dim in zip(value, each, strict=True)]
        return act(value, dim) if isinstance(value, torch.Tensor) else value

    return [one(value, dim) for value, dim in zip(values, [None] * len(values) if dims is None else dims, strict=True)]
