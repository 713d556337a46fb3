"""Whether a call can run under a pinned signature. All of it is checked before a tensor is moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from oneop.errors import ArgumentError, SbpError
from oneop.registry import ArgDef, OpDef, get_op
from oneop.runtime.core import core, find_op
from oneop.runtime.modes import untraced, without_modes
from oneop.sbp import SPLIT, Sbp, parse, placements
from oneop.sharding import dtensor
from oneop.sharding.planning import (
    Placements,
    Plan,
    ShardedCall,
    is_linear,
    placements_text,
    refuse_means,
    signatures_of,
)
from oneop.sharding.symbolic import hints
from oneop.signatures import Signature, text_of

_MOST_KNOWN = 1024
_known: set[object] = set()  # calls that were found right


def read_words(op: OpDef, text: str) -> list[Sbp]:
    """Return the word of each argument, inputs first. Raises `ArgumentError`."""
    left, arrow, right = text.partition("->")
    right = "" if right.strip() == "()" else right
    sides = [[item.strip() for item in side.split(",") if item.strip()] for side in (left, right)]
    if not arrow or len(sides[0]) != len(op.inputs) or len(sides[1]) != len(op.outputs):
        names = [", ".join(arg.name for arg in args) or "()" for args in (op.inputs, op.outputs)]
        raise ArgumentError(
            f'pin: op "{op.name}": expected a word for each of {" -> ".join(names)}, found "{text}"\n'
            "  write S(axis), B or P for each input, ->, and for each output: S(0), B -> S(0)\n"
            f"  defined at {op.source}"
        )
    pairs = zip([*op.inputs, *op.outputs], [*sides[0], *sides[1]], strict=True)
    return [_word(op, arg, word, text) for arg, word in pairs]


def _word(op: OpDef, arg: ArgDef, word: str, text: str) -> Sbp:
    try:
        return parse(word)
    except ArgumentError:
        raise ArgumentError(
            f'pin: op "{op.name}", "{arg.name}": expected S(axis), B, P, P(max), P(min) or P(avg), '
            f'found "{word}" in "{text}"'
        ) from None


@untraced
def check_call(name: str, texts: Sequence[str], args: Sequence[Any], attrs: dict[str, Any]) -> None:
    """Raise `ArgumentError` or `SbpError` unless the call, with all inputs by position, can run under the signatures.

    A call like one that was found right is not looked at again.
    """
    op = get_op(name)
    words = [read_words(op, text) for text in texts]
    tensors = list(_tensors(op, args))
    differentiates = torch.is_grad_enabled() and any(tensor.requires_grad for _, tensor in tensors)
    key: object = None
    if not any(isinstance(size, torch.SymInt) for _, tensor in tensors for size in tensor.shape):
        specs = [tensor._spec for _, tensor in tensors]
        counts = tuple(len(item) if isinstance(item, (list, tuple)) else item is None for item in args)
        key = (core().registry_epoch(), name, texts, differentiates, counts, *specs, repr(sorted(attrs.items())))
    if key is not None and key in _known:
        return
    with without_modes():
        _check(op, texts, words, args, tensors, attrs, differentiates)
    if key is not None:
        if len(_known) >= _MOST_KNOWN:  # shapes that never repeat must not fill the memory
            _known.clear()
        _known.add(key)


def _tensors(op: OpDef, args: Sequence[Any]) -> Iterator[tuple[ArgDef, DTensor]]:
    """Give each tensor with the argument that it belongs to."""
    for arg, item in zip(op.inputs, args, strict=True):
        if item is None and not arg.is_optional:
            raise ArgumentError(f'pin: op "{op.name}", input "{arg.name}": it is missing\n  defined at {op.source}')
        for tensor in item if isinstance(item, (list, tuple)) else [] if item is None else [item]:
            if not isinstance(tensor, DTensor):
                kind = "a plain tensor" if isinstance(tensor, torch.Tensor) else type(tensor).__name__
                raise ArgumentError(
                    f'pin: op "{op.name}", input "{arg.name}": expected a DTensor, found {kind}\n'
                    "  make one with oneop.global_tensor or torch.distributed.tensor.distribute_tensor"
                )
            yield arg, tensor


def _check(
    op: OpDef,
    texts: Sequence[str],
    words: Sequence[Sequence[Sbp]],
    args: Sequence[Any],
    tensors: Sequence[tuple[ArgDef, DTensor]],
    attrs: dict[str, Any],
    differentiates: bool,
) -> None:
    _check_mesh(op, texts, tensors)
    metas = [[_meta(tensor) for tensor in item] if isinstance(item, (list, tuple)) else _meta(item) for item in args]
    find_op(op.name)(*metas, **attrs)  # says what is wrong with inputs and attributes
    call, specs = dtensor.call_of(op, args, attrs)
    refuse_means(call)
    signatures = _signatures(op, call, words)
    count = len(call.placements)
    placed = [placements([signature[i] for signature in signatures]) for i in range(len(call.dtypes))]
    only_linear = differentiates and core().op_info(op.name)["grad"] is None
    _check_declared(call, texts, signatures, only_linear)
    for (arg, _), now, target in zip(tensors, call.placements, placed[:count], strict=True):
        _check_move(op, arg, now, target)
    there = dataclasses.replace(call, placements=placed[:count])
    moved = [dtensor.lying(spec, target) for spec, target in zip(specs, placed[:count], strict=True)]
    plan = dtensor.plan_call(there, moved, is_linear=only_linear)
    if [*plan.chosen.inputs, *plan.chosen.outputs] != placed:
        raise SbpError(f"{_start(op, texts)}\n  {_why(call, plan, signatures)}\n  defined at {op.source}")


def _start(op: OpDef, texts: Sequence[str]) -> str:
    return f'pin: op "{op.name}": it does not run under {" | ".join(texts)}'


def _meta(tensor: Any) -> Any:
    return None if tensor is None else torch.empty(hints(tensor.shape), dtype=tensor.dtype, device="meta")


def _check_mesh(op: OpDef, texts: Sequence[str], tensors: Sequence[tuple[ArgDef, DTensor]]) -> None:
    if not tensors:
        raise ArgumentError(f'pin: op "{op.name}": expected a DTensor, found none: there is no mesh to run on')
    first, mesh = tensors[0][0], tensors[0][1].device_mesh
    for arg, tensor in tensors:
        if tensor.device_mesh != mesh:
            raise ArgumentError(
                f'pin: op "{op.name}", input "{arg.name}": all inputs must be on one mesh, '
                f'found {tensor.device_mesh}, and that of "{first.name}", {mesh}'
            )
    if len(texts) != mesh.ndim:
        raise ArgumentError(
            f'pin: op "{op.name}", input "{first.name}": expected {mesh.ndim} signatures, one for each dimension of '
            f"{mesh}, found {len(texts)}: {' | '.join(texts)}\n"
            "  give a list: pin(op, [signature, ...]); B everywhere is a signature that always holds"
        )


def _signatures(op: OpDef, call: ShardedCall, words: Sequence[Sequence[Sbp]]) -> list[Signature]:
    """Return a word for each tensor, its axis counted from the first one."""
    shapes = iter([*call.shapes, *(shape for shape, _ in call.outputs)])
    arguments = [*op.inputs, *op.outputs]
    ndims = [(i, len(next(shapes))) for i, count in enumerate(call.counts) for _ in range(count)]
    signatures = []
    for entries in words:
        signature = []
        for i, ndim in ndims:
            sbp = entries[i]
            if sbp.kind == SPLIT and not -ndim <= sbp.axis < ndim:
                side = "input" if i < len(op.inputs) else "output"
                axes = f"has the axes 0 to {ndim - 1}" if ndim else "has no axes (0 dimensions)"
                raise ArgumentError(
                    f'pin: op "{op.name}", {side} "{arguments[i].name}": it {axes}, found {sbp}\n'
                    f"  write {'S of one of these, ' if ndim else ''}B or P; oneop.sbp_signatures lists what it has"
                )
            signature.append(Sbp(SPLIT, sbp.axis % ndim) if sbp.kind == SPLIT else sbp)
        signatures.append(tuple(signature))
    return signatures


def _check_move(op: OpDef, arg: ArgDef, now: Placements, target: Placements) -> None:
    if now == target:
        return
    texts = placements_text(now), placements_text(target)
    if arg.is_mutable:
        raise SbpError(
            f'pin: op "{op.name}", input "{arg.name}": the op changes it in place, so it must lie as pinned: '
            f"expected {texts[1]}, found {texts[0]}\n  redistribute it first, and use what that returns"
        )
    if any(placement.is_partial() and placement != before for placement, before in zip(target, now, strict=True)):
        raise SbpError(
            f'pin: op "{op.name}", input "{arg.name}": DTensor makes no {texts[1]} of a tensor that lies {texts[0]}\n'
            "  make the summands where the tensor comes from, or pin another signature"
        )


def _check_declared(
    call: ShardedCall, texts: Sequence[str], signatures: Sequence[Signature], only_linear: bool
) -> None:
    if core().op_info(call.op.name)["has_nd_sbp"]:
        return  # the op decides for all dimensions at once; the plan says what
    for text, signature, declared in zip(texts, signatures, signatures_of(call), strict=True):
        if signature not in declared:
            shown = "; ".join(dict.fromkeys(text_of(call.op, call.counts, signature) for signature in declared))
            raise SbpError(
                f"{_start(call.op, texts)}\n"
                f"  expected a signature that it declares for these shapes and attributes: {shown}\n  found {text}\n"
                f"  pin one of these, or declare it with register_sbp\n  defined at {call.op.source}"
            )
        if only_linear and not is_linear(signature):
            raise SbpError(
                f"{_start(call.op, texts)} with inputs that require a gradient\n"
                "  torch differentiates it, and goes back through splits, broadcasts and sums only\n"
                f"  write its gradient with register_grad, or pin another signature\n  defined at {call.op.source}"
            )


def _why(call: ShardedCall, plan: Plan, signatures: Sequence[Signature]) -> str:
    """Return why inputs that lie as pinned would run under another signature."""
    for candidate, problem in plan.refused:
        if list(candidate.signatures) == list(signatures):
            return problem
    chosen = " | ".join(text_of(call.op, call.counts, signature) for signature in plan.chosen.signatures)
    return f"inputs that lie so run under {chosen}, which it declares first"
