"""Running an op on simulated shards, and putting together what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oneop.registry import OpDef
from oneop.sbp import BROADCAST, PARTIAL_SUM, SPLIT, Sbp, broadcast, partial_sum, split
from oneop.sharding.local import chunk_sizes, flatten, local_attrs
from oneop.signatures import Signature

_SEED = 20

#: What results may differ by, relative to the largest of them.
_TOLERANCE = {torch.float64: 1e-9, torch.complex128: 1e-9, torch.float16: 2e-2, torch.bfloat16: 1e-1}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a signature holds; None where it could not be tried."""

    holds: bool | None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Whole inputs and what the op makes of them: its outputs, then the inputs that it changed."""

    inputs: list[torch.Tensor]
    outputs: list[torch.Tensor]
    rtol: float | None
    note: str


@dataclass(frozen=True, kw_only=True)
class Call:
    """An op with inputs, by argument, and attributes."""

    op: OpDef
    overload: Any
    groups: list[list[torch.Tensor]]
    attrs: dict[str, Any]

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
        given = self.attrs.get("output_counts")
        if given is not None:
            return [int(count) for count in given]
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

    def whole(self, tensors: Sequence[torch.Tensor], **changed: Any) -> list[torch.Tensor]:
        """Run the op; return its outputs, then the inputs that it changed."""
        own = [tensor.detach().clone() for tensor in tensors]
        with torch.no_grad():
            outputs = flatten(self.overload(*self.arranged(own), **{**self.attrs, **changed}))
        return [*outputs, *(own[number] for number in self.changed)]

    def sample(self, sign: int, rtol: float | None) -> Sample | None:
        """Return a run on the inputs, or on the negated ones; None where the op refuses these."""
        inputs = [tensor * sign if tensor.is_floating_point() else tensor for tensor in map(_plain, self.tensors)]
        try:
            outputs = self.whole(inputs)
        except (RuntimeError, ValueError, TypeError, IndexError):
            return None
        return Sample(inputs=inputs, outputs=outputs, rtol=rtol, note="" if sign > 0 else ", negated inputs")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the op gave for each shard, and for the whole."""

    call: Call
    sample: Sample
    placed: Signature
    results: list[list[torch.Tensor]]

    def compare(self, outputs: Signature) -> str:
        """Return what is wrong with these placements of the outputs, or nothing."""
        all_outputs = [*outputs, *(self.placed[number] for number in self.call.changed)]
        for number, sbp in enumerate(all_outputs):
            problem = self._compare_one(number, sbp)
            if problem:
                return problem
        return ""

    def fitting(self) -> list[list[Sbp]]:
        """Return for each output the placements with which the parts make up the whole."""
        fitting = []
        for number in range(sum(self.call.output_counts)):
            ndim = self.sample.outputs[number].ndim
            options = [broadcast, *(split(axis) for axis in range(ndim)), partial_sum]
            fitting.append([sbp for sbp in options if not self._compare_one(number, sbp)])
        return fitting

    def _compare_one(self, number: int, sbp: Sbp) -> str:
        whole = self.sample.outputs[number]
        parts = [result[number] for result in self.results]
        name = self._name(number)
        if sbp.kind == SPLIT and sbp.axis >= whole.ndim:
            return f"{name} has {whole.ndim} axes, {sbp} needs axis {sbp.axis}"
        if sbp.kind == SPLIT:
            wanted = chunk_sizes(whole.shape[sbp.axis], len(parts))
            for i, part in enumerate(parts):
                shape = _with_size(tuple(whole.shape), sbp.axis, wanted[i])
                if tuple(part.shape) != shape:
                    return f"{name} has shape {list(part.shape)} in part {i}, {sbp} needs {list(shape)}"
            together = torch.cat(parts, sbp.axis)
            return self._difference(f"{name}, parts put together along axis {sbp.axis}", together, whole)
        for i, part in enumerate(parts):
            if part.shape != whole.shape:
                return f"{name} has shape {list(part.shape)} in part {i}, {sbp} needs {list(whole.shape)}"
        if sbp.kind == PARTIAL_SUM:
            if not (whole.is_floating_point() or whole.is_complex()):
                return f"{name} is of {whole.dtype}, not parts of a sum"
            return self._difference(f"{name}, the sum of the parts", sum(parts[1:], parts[0]), whole)
        return next(
            (text for i, part in enumerate(parts) if (text := self._difference(f"{name} of part {i}", part, whole))), ""
        )

    def _difference(self, what: str, found: torch.Tensor, whole: torch.Tensor) -> str:
        if not whole.numel():
            return ""
        if not (whole.is_floating_point() or whole.is_complex()):
            wrong = int((found != whole).sum())
            return f"{what}, differs from the whole in {wrong} of {whole.numel()} elements" if wrong else ""
        rtol = self.sample.rtol or _TOLERANCE.get(whole.dtype, 1e-4)
        finite = whole[torch.isfinite(whole)].abs()
        limit = rtol * max(1e-6, float(finite.max()) if finite.numel() else 0.0)
        if torch.allclose(found, whole, rtol=0, atol=limit, equal_nan=True):
            return ""
        gap = (found - whole).abs().nan_to_num(nan=float("inf")).max()
        return f"{what}, differs from the whole by up to {float(gap):.3g}"

    def _name(self, number: int) -> str:
        names = [
            f'"{arg.name}"' + (f"[{i}]" if count > 1 else "")
            for arg, count in zip(self.call.op.outputs, self.call.output_counts, strict=True)
            for i in range(count)
        ]
        return names[number] if number < len(names) else "what is changed in place"


def run_shards(
    call: Call, sample: Sample, placed: Signature, parts: int, outputs: Signature | None = None
) -> Parts | str:
    """Cut the inputs as placed and run the op on each part. Return the text of what went wrong, if anything did.

    Where it is said how the outputs are placed, attributes that hold sizes of the whole become those of the part.
    """
    cut = [
        _cut(tensor, sbp, parts, number) for number, (tensor, sbp) in enumerate(zip(sample.inputs, placed, strict=True))
    ]
    results = []
    for i in range(parts):
        own = [pieces[i] for pieces in cut]
        try:
            results.append(call.whole(own, **_changed_attrs(call, sample, own, outputs, parts, i)))
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
            return f"part {i}: {str(error).splitlines()[0]}"
    return Parts(call=call, sample=sample, placed=placed, results=results)


def _changed_attrs(
    call: Call, sample: Sample, own: Sequence[torch.Tensor], outputs: Signature | None, parts: int, index: int
) -> dict[str, Any]:
    if outputs is None or not call.op.attrs:
        return {}
    whole = [tuple(output.shape) for output in sample.outputs[: len(outputs)]]
    wanted = [
        _with_size(shape, sbp.axis, chunk_sizes(shape[sbp.axis], parts)[index]) if sbp.kind == SPLIT else shape
        for shape, sbp in zip(whole, outputs, strict=True)
    ]
    return local_attrs(call.overload, call.arranged(own), call.attrs, whole, wanted) or {}


def _cut(tensor: torch.Tensor, sbp: Sbp, parts: int, number: int) -> list[torch.Tensor]:
    if sbp.kind == BROADCAST:
        return [tensor] * parts
    if sbp.kind == SPLIT:
        sizes = chunk_sizes(tensor.shape[sbp.axis], parts)
        return [part.contiguous() for part in torch.split(tensor, sizes, sbp.axis)]
    # Parts of a sum: of both signs, and of different sizes.
    generator = torch.Generator().manual_seed(_SEED + number)
    scale = float(tensor.abs().max()) if tensor.numel() and tensor.is_floating_point() else 1.0
    pieces = []
    left = tensor
    for i in range(parts - 1):
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float32).to(tensor) * (scale * (1 + i / 2))
        pieces.append(noise)
        left = left - noise
    return [*pieces, left]


def _with_size(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach()
