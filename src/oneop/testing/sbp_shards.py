"""Running an op on simulated shards, and putting together what it gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed.tensor  # first: it starts the adapter, which imports what is imported below

from oneop.registry import OpDef
from oneop.runtime.core import find_op
from oneop.sbp import (
    BROADCAST,
    PARTIAL_AVG,
    PARTIAL_MAX,
    PARTIAL_MIN,
    PARTIAL_SUM,
    SPLIT,
    Sbp,
    broadcast,
    partial_max,
    partial_min,
    partial_sum,
    placements,
    split,
)
from oneop.sharding.local import chunk_sizes, flatten
from oneop.sharding.overloads import local_overload
from oneop.sharding.planning import Candidate, ShardedCall, infers, local_call, readable_attrs
from oneop.signatures import Signature
from oneop.testing.sbp_tolerance import difference, limits, nudged

_SEED = 20
#: What an author's inference or kernel may raise.
RAISED = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, LookupError, ArithmeticError)
_NUDGES = 7


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Whole inputs and what the op makes of them: its outputs, then the inputs that it changed."""

    call: Call
    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]
    rtol: float | None
    note: str
    is_magnified: bool = False  # the inputs are larger than those given, and may overflow

    def shaped(self, parts: int, signature: Signature) -> tuple[ShardedCall, Candidate]:
        """Return the call and the signature as the adapter for DTensors would see them on so many devices."""
        call = self.call
        rest = iter(self.inputs)
        groups = [[(tuple(t.shape), t.dtype) for t in (next(rest) for _ in group)] for group in call.groups]
        names: dict[str, str] = find_op(call.op.name)._trace_names.attrs  # type: ignore[attr-defined]
        schema_attrs = {names.get(name, name): value for name, value in call.attrs.items()}
        count = sum(call.output_counts)
        placed = [placements(sbp) for sbp in signature]
        sharded = ShardedCall(
            op=call.op,
            overload=call.overload,
            mesh_shape=(parts,),
            groups=groups,
            placements=placed[: len(self.inputs)],
            output_counts=call.output_counts,
            attrs=readable_attrs(call.op, names, schema_attrs),
            schema_attrs=schema_attrs,
            outputs=[(tuple(output.shape), output.dtype) for output in self.outputs[:count]],
            schema_names=names,
        )
        inputs, outputs = placed[: len(self.inputs)], placed[len(self.inputs) :]
        return sharded, Candidate(signatures=(signature,), inputs=inputs, outputs=outputs, costs=[], moved=0)


@dataclass(frozen=True, kw_only=True)
class Call:
    """An op with inputs, by argument, and attributes."""

    op: OpDef
    overload: Any
    groups: list[list[torch.Tensor]]
    attrs: dict[str, Any]
    local_runs: dict[Any, tuple[Any, dict[str, Any]]] = field(default_factory=dict)

    @property
    def tensors(self) -> list[torch.Tensor]:
        """All input tensors."""
        return [tensor for tensors in self.groups for tensor in tensors]

    @property
    def counts(self) -> list[int]:
        """The number of tensors of each argument, inputs then outputs."""
        return [*map(len, self.groups), *self.output_counts]

    @property
    def output_counts(self) -> list[int]:
        """The number of tensors of each output argument."""
        declared = self.attrs.get("output_counts")
        if declared is not None and self.op.has_open_outputs:
            return [int(count) for count in declared]
        return [0 if arg.is_optional else max(arg.count, 1) for arg in self.op.outputs]

    @property
    def changed(self) -> list[int]:
        """The numbers of the input tensors that the op changes in place."""
        numbers, at = [], 0
        for arg, tensors in zip(self.op.inputs, self.groups, strict=True):
            numbers += [at + i for i in range(len(tensors)) if arg.is_mutable]
            at += len(tensors)
        return numbers

    def specs(self) -> list[list[tuple[tuple[int, ...], torch.dtype]]]:
        """Return shape and dtype of each input."""
        return [[(tuple(tensor.shape), tensor.dtype) for tensor in tensors] for tensors in self.groups]

    def arranged(self, tensors: Sequence[torch.Tensor]) -> list[Any]:
        """Return tensors as the op takes them."""
        rest = iter(tensors)
        arranged: list[Any] = []
        for arg, group in zip(self.op.inputs, self.groups, strict=True):
            taken = [next(rest) for _ in group]
            is_list = arg.count != 1 or arg.count_is_minimum
            arranged.append(taken if is_list else taken[0] if taken else None)
        return arranged

    def run(self, tensors: Sequence[torch.Tensor], overload: Any = None, /, **changed: Any) -> list[torch.Tensor]:
        """Run the op; return its outputs, then the inputs that it changed."""
        own = [tensor.detach().clone() for tensor in tensors]
        names: dict[str, str] = find_op(self.op.name)._trace_names.attrs  # type: ignore[attr-defined]
        attrs = {names.get(name, name): value for name, value in self.attrs.items()}
        with torch.no_grad():
            outputs = flatten((overload or self.overload)(*self.arranged(own), **{**attrs, **changed}))
        return [*outputs, *(own[number] for number in self.changed)]


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Parts that the op's own inference does not take, so that DTensor never runs the op on them."""

    text: str


def refusal(sample: Sample, signature: Signature, parts: int) -> Refusal | None:
    """Return why inference does not take the parts that a signature makes, if it does not."""
    call, candidate = sample.shaped(parts, signature)
    for index in range(parts):
        try:
            local = local_call(call, candidate, (index,))
        except RAISED as error:
            return Refusal(text=f"part {index}: {str(error).splitlines()[0]}")
        if infers(call, candidate, local, (index,)):
            continue
        rest = iter(local.inputs)
        metas = [torch.empty(next(rest), dtype=dtype, device="meta") for group in call.groups for _, dtype in group]
        changed = {call.schema_names.get(name, name): value for name, value in local.attrs.items()}
        try:
            inferred = flatten(call.overload(*sample.call.arranged(metas), **{**call.schema_attrs, **changed}))
        except RAISED as error:
            return Refusal(text=f"part {index}: {str(error).splitlines()[0]}")
        for number, (output, wanted) in enumerate(zip(inferred, local.outputs, strict=False)):
            if tuple(output.shape) != wanted:
                return Refusal(
                    text=f"part {index}: {output_name(sample.call, number)} has the shape {list(output.shape)}, "
                    f"expected {list(wanted)}"
                )
        return Refusal(text=f"part {index}: physical inference does not give the part's shape")
    return None


def run_shards(sample: Sample, signature: Signature, parts: int, *, nudge: int = 0) -> list[list[torch.Tensor]] | str:
    """Cut the inputs as a signature says and run the op on each part; the text of what went wrong, if anything did.

    With `nudge` the parts are changed by about a rounding error, another one for each number.
    """
    cut = [
        cut_tensor(tensor, sbp, parts, number)
        for number, (tensor, sbp) in enumerate(zip(sample.inputs, signature, strict=False))
    ]
    results = []
    for index in range(parts):
        own = [nudged(pieces[index], nudge, 31 * number + index) for number, pieces in enumerate(cut)]
        try:
            overload, changed = _local_run(sample, signature, parts, index)
            results.append(sample.call.run(own, overload, **changed))
        except RAISED as error:
            size = "an empty part" if any(0 in tensor.shape for tensor in own) else f"part {index}"
            return f"{size}: {str(error).splitlines()[0]}"
    return results


def _local_run(sample: Sample, signature: Signature, parts: int, index: int) -> tuple[Any, dict[str, Any]]:
    """Return what runs on a part, as the adapter says; samples of the same shapes and dtypes share it."""
    dtypes = tuple(tensor.dtype for tensor in [*sample.inputs, *sample.outputs])
    key = (signature, parts, index, dtypes)
    known = sample.call.local_runs.get(key)
    if known is None:
        call, candidate = sample.shaped(parts, signature)
        known = sample.call.local_runs[key] = local_overload(call, candidate, (index,))
    return known


def compare(sample: Sample, signature: Signature, parts: int, results: list[list[torch.Tensor]]) -> str:
    """Return what is wrong with the placements of the outputs, or nothing."""
    count = len(sample.inputs)
    wanted = [*signature[count:], *(signature[number] for number in sample.call.changed)]
    gathered = [_gathered(sample, results, number, sbp) for number, sbp in enumerate(wanted)]
    for number, output in enumerate(gathered):
        if isinstance(output, str):
            return f"{output_name(sample.call, number)} {output}"

    def gap(number: int, near: Sequence[torch.Tensor]) -> str | None:
        output, summands = gathered[number], [result[number] for result in results if wanted[number].is_partial]
        assert isinstance(output, torch.Tensor)
        limit = limits(output, near, summands, sample.rtol)
        if limit is not None and sample.is_magnified and wanted[number].kind == PARTIAL_SUM:
            # A sum of parts rounds before it adds up, so it overflows elsewhere than the whole; that says nothing.
            values = torch.stack([output, sample.outputs[number], *summands])
            limit = limit.masked_fill(~torch.isfinite(values).all(0), float("inf"))
        return difference(output, sample.outputs[number], limit)

    # Nudged runs only widen a limit, so they are made where a limit without them is not enough.
    suspects = [number for number in range(len(gathered)) if gap(number, []) is not None]
    moved = [run_shards(sample, signature, parts, nudge=nudge) for nudge in range(1, _NUDGES + 1)] if suspects else []
    for number in suspects:
        sbp = wanted[number]
        near = [_gathered(sample, other, number, sbp) for other in moved if not isinstance(other, str)]
        problem = gap(number, [result for result in near if isinstance(result, torch.Tensor)])
        if problem is not None:
            return f"{output_name(sample.call, number)}, {_HOW[sbp.kind].format(axis=sbp.axis)}, {problem}"
    return ""


_HOW = {
    SPLIT: "put together along axis {axis}",
    BROADCAST: "of a part",
    PARTIAL_SUM: "the sum of the parts",
    PARTIAL_MAX: "the maximum of the parts",
    PARTIAL_MIN: "the minimum of the parts",
    PARTIAL_AVG: "the mean of the parts",
}


def _gathered(sample: Sample, results: list[list[torch.Tensor]], number: int, sbp: Sbp) -> torch.Tensor | str:
    """Return an output put together from its parts, or why that cannot be."""
    whole = sample.outputs[number]
    pieces = [result[number] for result in results]
    if sbp.kind == SPLIT:
        if sbp.axis >= whole.ndim:
            return f"has {whole.ndim} axes, {sbp} needs axis {sbp.axis}"
        sizes = chunk_sizes(whole.shape[sbp.axis], len(pieces))
        wanted = [(*whole.shape[: sbp.axis], size, *whole.shape[sbp.axis + 1 :]) for size in sizes]
    else:
        wanted = [tuple(whole.shape)] * len(pieces)
    for index, (piece, shape) in enumerate(zip(pieces, wanted, strict=True)):
        if tuple(piece.shape) != shape:
            return f"of part {index} has the shape {list(piece.shape)}, expected {list(shape)}"
        if piece.dtype != whole.dtype:
            return f"of part {index} is of {piece.dtype}, the whole of {whole.dtype}"
    if sbp.kind == SPLIT:
        return torch.cat(pieces, sbp.axis)
    if sbp.kind == BROADCAST:
        other = next((piece for piece in pieces if not _same(piece, whole)), pieces[0])
        return other  # every part must be the whole, so the one that differs is compared
    if whole.dtype == torch.bool:
        return "is of torch.bool, which has no sum"
    if whole.is_complex() and sbp.kind in (PARTIAL_MAX, PARTIAL_MIN):
        return f"is of {whole.dtype}, whose numbers have no order"
    stacked = torch.stack(pieces)
    if sbp.kind == PARTIAL_SUM:
        return stacked.sum(0, dtype=whole.dtype)
    if sbp.kind == PARTIAL_AVG:
        return stacked.mean(0)
    return stacked.amax(0) if sbp.kind == PARTIAL_MAX else stacked.amin(0)


def _same(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    return (
        torch.equal(tensor, other)
        if not tensor.is_floating_point()
        else torch.allclose(tensor, other, 0, 0, equal_nan=True)
    )


def output_name(call: Call, number: int) -> str:
    """Return what an output is called in a message."""
    names = [
        f'"{arg.name}"' + (f"[{i}]" if count > 1 else "")
        for arg, count in zip(call.op.outputs, call.output_counts, strict=True)
        for i in range(count)
    ]
    return names[number] if number < len(names) else "what is changed in place"


def cut_tensor(tensor: torch.Tensor, sbp: Sbp, parts: int, number: int) -> list[torch.Tensor]:
    """Return the parts of a tensor; those of a sum are of both signs, and of different sizes."""
    if sbp.kind == BROADCAST:
        return [tensor] * parts
    if sbp.kind == SPLIT:
        return [
            piece.contiguous() for piece in torch.split(tensor, chunk_sizes(tensor.shape[sbp.axis], parts), sbp.axis)
        ]
    generator = torch.Generator().manual_seed(_SEED + number)
    if not (tensor.is_floating_point() or tensor.is_complex()):
        noise = [torch.randint(-9, 10, tensor.shape, generator=generator).to(tensor.dtype) for _ in range(parts - 1)]
    else:
        scale = float(tensor.abs().max()) if tensor.numel() else 1.0
        noise = [
            torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor.dtype) * (scale * (1 + i / 2))
            for i in range(parts - 1)
        ]
    if sbp.kind in (PARTIAL_MAX, PARTIAL_MIN):
        sign = -1 if sbp.kind == PARTIAL_MAX else 1
        owner = torch.randint(0, parts, tensor.shape, generator=generator)
        extra = [*noise, noise[0] if noise else tensor]
        return [torch.where(owner == i, tensor, tensor + sign * extra[i].abs()) for i in range(parts)]
    if sbp.kind == PARTIAL_AVG:
        return [*(tensor + part for part in noise), tensor - sum(noise, torch.zeros_like(tensor))]
    return [*noise, tensor - sum(noise, torch.zeros_like(tensor))]


def fitting(sample: Sample, placed: Signature, parts: int) -> list[list[Sbp]] | str:
    """Return for each output the placements with which the parts of one run make up the whole, roughly."""
    outputs = sample.outputs[: sum(sample.call.output_counts)]
    options = [
        [broadcast, *(split(axis) for axis in range(output.ndim)), partial_sum, partial_max, partial_min]
        for output in outputs
    ]
    results: list[list[torch.Tensor]] | str = "inference takes no such parts"
    for first in itertools.product(*options):
        if refusal(sample, (*placed, *first), parts) is None:
            results = run_shards(sample, (*placed, *first), parts)
            if not isinstance(results, str):
                break
    if isinstance(results, str):
        return results
    axes = []
    for number, choices in enumerate(options):
        fits = []
        for sbp in choices:
            gathered = _gathered(sample, results, number, sbp)
            if (
                isinstance(gathered, torch.Tensor)
                and difference(gathered, outputs[number], _rough(outputs[number])) is None
            ):
                fits.append(sbp)
        axes.append(fits)
    return axes


def _rough(whole: torch.Tensor) -> torch.Tensor | None:
    """Return a generous limit: discovery only picks candidates with it, which are proved afterwards."""
    if not whole.is_floating_point():
        return None
    return torch.full_like(whole, 1e-2 * max(1e-30, float(whole.abs().nan_to_num().max()) if whole.numel() else 0.0))
