"""Proving where gradients lie: the ops that a backward runs, and compositions that torch differentiates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed.tensor  # first: it starts the adapter, which imports what is imported below
from torch.utils._python_dispatch import TorchDispatchMode

from oneop.runtime.core import core
from oneop.sbp import BROADCAST, PARTIAL_SUM, SPLIT, Sbp, broadcast, partial_sum
from oneop.sharding.parts import make_part, tracing_part
from oneop.sharding.planning import local_call
from oneop.signatures import Signature
from oneop.testing.sbp_shards import RAISED, Call, Sample, cut_tensor
from oneop.testing.sbp_tolerance import difference


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the ops of oneop that are called."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "oneop":
            kept = tuple(
                [t.detach().clone() for t in item]
                if isinstance(item, (list, tuple))
                else item.detach().clone()
                if isinstance(item, torch.Tensor)
                else item
                for item in args
            )
            self.calls.append((func._schema.name.partition("::")[2], kept, dict(kwargs or {})))
        return func(*args, **(kwargs or {}))


def backward_calls(call: Call) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Return the calls of ops that the gradient of a call makes; none where it cannot be differentiated."""
    if core().op_info(call.op.name)["grad"] is None or call.changed:
        return []
    inputs = [t.detach().clone().requires_grad_(t.is_floating_point()) for t in call.tensors]
    try:
        results = call.overload(*call.arranged(inputs), **call.attrs)
        listed = [results] if isinstance(results, torch.Tensor) else list(results)
        outputs = [output for output in listed if output.requires_grad]
        if not outputs:
            return []
        seeds = [_weights(output, i) for i, output in enumerate(outputs)]
        with _Recorder() as recorder:
            torch.autograd.grad(outputs, [t for t in inputs if t.requires_grad], seeds, allow_unused=True)
    except RAISED:
        return []
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = recorder.calls
    return calls


def composition_problem(sample: Sample, signature: Signature, parts: int) -> str:
    """Return what is wrong with the gradients of a composition on parts; see oneop.sharding.composition."""
    call = sample.call
    info = core().op_info(call.op.name)
    if info["grad"] is not None or info["no_grad"]:
        return ""  # its gradient is made of ops, which have signatures of their own
    if any(sbp.kind not in (SPLIT, BROADCAST, PARTIAL_SUM) for sbp in signature) or call.changed:
        return ""
    count = len(sample.inputs)
    whole_inputs = [t.clone().requires_grad_(t.is_floating_point()) for t in sample.inputs]
    differentiated = [number for number, t in enumerate(whole_inputs) if t.requires_grad]
    try:
        outputs = _listed(call.overload(*call.arranged(whole_inputs), **call.attrs))
        seeds = [_weights(output, i) for i, output in enumerate(outputs)]
        whole = _grads(outputs, [whole_inputs[i] for i in differentiated], seeds)
        cut = [cut_tensor(t, sbp, parts, i) for i, (t, sbp) in enumerate(zip(sample.inputs, signature, strict=False))]
        seed_parts = [
            cut_tensor(seed, _back(sbp, signature), parts, 50 + i)
            for i, (seed, sbp) in enumerate(zip(seeds, signature[count:], strict=True))
        ]
        grads_of_parts: list[list[torch.Tensor | None]] = []
        sharded, candidate = sample.shaped(parts, signature)
        shapes = [*sharded.shapes, *(shape for shape, _ in sharded.outputs)]
        for index in range(parts):
            own = [pieces[index].clone().requires_grad_(pieces[index].is_floating_point()) for pieces in cut]
            local = local_call(sharded, candidate, (index,))
            changed = {sharded.schema_names.get(name, name): value for name, value in local.attrs.items()}
            place = make_part((parts,), (index,), [*candidate.inputs, *candidate.outputs], shapes)
            with tracing_part(place):
                results = _listed(call.overload(*call.arranged(own), **{**sharded.schema_attrs, **changed}))
            grads_of_parts.append(
                _grads(results, [own[i] for i in differentiated], [seeds[index] for seeds in seed_parts])
            )
    except RAISED:
        return ""  # not a composition, or not differentiable; forward has its own verdict
    for position, number in enumerate(differentiated):
        sbp = _back(signature[number], signature)
        pieces = [grads[position] for grads in grads_of_parts]
        expected = whole[position]
        if expected is None or any(piece is None for piece in pieces):
            continue
        present = [piece for piece in pieces if piece is not None]
        gathered = torch.cat(present, sbp.axis) if sbp.kind == SPLIT else present[-1]
        if sbp.kind == PARTIAL_SUM:
            gathered = torch.stack(present).sum(0)
        scale = float(expected.abs().nan_to_num().max()) if expected.numel() else 0.0
        rounding = 4 * torch.finfo(expected.dtype).eps  # of gradients in low precision, which are rounded at each step
        limit = torch.full_like(expected, max(1e-3, rounding) * scale + 1e-30, dtype=torch.float64)
        if sbp.kind == PARTIAL_SUM:  # the sum rounds each summand, also where they cancel
            limit += rounding * sum(piece.abs().nan_to_num().to(torch.float64) for piece in present)
        gap = difference(gathered, expected, limit)
        if gap is not None:
            return f"the gradient of input {number} under {sbp}, {gap}"
    return ""


def _back(sbp: Sbp, signature: Signature) -> Sbp:
    if sbp.kind == SPLIT or all(entry.kind == BROADCAST for entry in signature):
        return sbp
    return partial_sum if sbp.kind == BROADCAST else broadcast


def _listed(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def _weights(output: torch.Tensor, number: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(100 + number)
    return torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output.dtype)


def _grads(
    outputs: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], seeds: Sequence[torch.Tensor]
) -> list[torch.Tensor | None]:
    pairs = [(output, seed) for output, seed in zip(outputs, seeds, strict=True) if output.requires_grad]
    if not pairs or not inputs:
        return [None] * len(inputs)
    return list(torch.autograd.grad([p[0] for p in pairs], inputs, [p[1] for p in pairs], allow_unused=True))
