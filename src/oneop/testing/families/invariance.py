"""Batch invariance: the bits of a row of the results, whatever the other rows are and however many."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from oneop.errors import KernelNotFoundError, OneopError
from oneop.runtime.requirement import require
from oneop.sbp import BROADCAST, SPLIT, Sbp
from oneop.signatures import declared_signatures
from oneop.testing.case import Case, Restriction, make_case
from oneop.testing.compare import assert_same
from oneop.testing.domain.probe import Choice, usual_attrs
from oneop.testing.domain.templates import Shape
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.agreement import results_of_kernel
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.repetition import several_threads
from oneop.testing.families.sizes import large_shapes
from oneop.testing.report import FAILED, Outcome
from oneop.testing.values import TensorCase

Tensors = Sequence[torch.Tensor]
Run = Callable[[Tensors], list[torch.Tensor]]

#: Elements of a call that several threads share.
_LARGE, _ROWS = 140_000, 5_000
_WHAT = "the bits of a row depend on the other rows of the batch"


def batch_invariance(context: Context) -> Outcome:
    """Rows give the same bits alone, in parts of the batch, and beside other rows. Rows are what signatures split.

    Kernels that declare it must hold it. Where none does, whether it holds is reported, and nothing fails.
    """
    declared = [i for i, kernel in enumerate(context.subject.op.kernels) if kernel.batch_invariant]
    if context.subject.is_random:
        return skipped("batch invariance", "random: each batch draws numbers of its own")

    def holds(case: Case) -> None:
        runs = [_run_of(case, i) for i in declared] or [case.run]
        is_tried = False
        for run, (inputs, outputs) in itertools.product(runs, _splits(case)):
            with contextlib.suppress(KernelNotFoundError):  # a kernel for other calls
                is_tried |= _rows_hold(context, case, run, inputs, outputs)
        if not is_tried:
            raise NotForThis

    with require(batch_invariant=bool(declared)):
        outcome = context.explore("batch invariance", Restriction(sizes=(5, 2, 3, 17)), holds)
        if outcome.failure is None and outcome.cases:
            large = [
                make_case(context.domain, choice, shapes, usual_attrs(context.domain), fill="full")
                for choice in context.domain.choices[:3]
                for shapes in (*large_shapes(context, choice, _LARGE)[:1], *_many_rows(choice))
            ]
            with several_threads():
                more = context.run("batch invariance", large, holds)
            outcome = more if more.failure else replace(outcome, cases=outcome.cases + more.cases)
    if declared:
        return outcome
    if outcome.status == FAILED:
        return skipped("batch invariance", "does not hold bit by bit; no kernel declares it")
    return replace(outcome, note=outcome.note or "holds; no kernel declares it") if outcome.cases else outcome


def _many_rows(choice: Choice) -> Iterator[list[Shape]]:
    """Yield shapes with one long axis after the other."""
    template = min(choice.templates, key=lambda template: abs(len(template.symbols) - 2))
    for symbol in template.symbols[:3]:
        yield template.shapes({name: _ROWS if name == symbol else 3 for name in template.symbols})


def _run_of(case: Case, index: int) -> Run:
    return lambda tensors: results_of_kernel(case, index, tensors)


def _splits(case: Case) -> Iterator[tuple[tuple[Sbp, ...], tuple[Sbp, ...]]]:
    """Yield the signatures, of inputs and of results, that split both and add nothing up."""
    op, groups = case.subject.op, _grouped(case)
    specs = [[(tuple(recipe.shape), recipe.dtype) for recipe in group] for group in groups]
    attrs = case.attributes
    said = attrs.get("output_counts") if op.has_open_outputs else None
    counts = said or [0 if arg.is_optional else max(arg.count, 1) for arg in op.outputs]
    try:
        signatures = declared_signatures(op.name, specs, counts, attrs, keep_small=True).signatures
    except OneopError:
        return  # those that are wrong are another family's business
    inputs = len(case.tensors)
    for signature in signatures:
        kinds = {sbp.kind for sbp in signature[:inputs]}
        if SPLIT in kinds and kinds <= {SPLIT, BROADCAST} and all(sbp.kind == SPLIT for sbp in signature[inputs:]):
            yield signature[:inputs], signature[inputs:]


def _grouped(case: Case) -> list[tuple[TensorCase, ...]]:
    ends = list(itertools.accumulate(case.counts))
    return [case.tensors[end - count : end] for end, count in zip(ends, case.counts, strict=True)]


def _rows_hold(context: Context, case: Case, run: Run, inputs: Sequence[Sbp], outputs: Sequence[Sbp]) -> bool:
    """Compare rows. False where the signature says nothing about this call."""
    tensors = case.make()
    split = [(tensor, sbp.axis) for tensor, sbp in zip(tensors, inputs, strict=True) if sbp.kind == SPLIT]
    if any(axis >= tensor.ndim for tensor, axis in split):
        return False
    rows = math.gcd(*(tensor.shape[axis] for tensor, axis in split))
    whole = run(case.make())
    results = list(zip(whole, outputs, strict=False))  # changed inputs come after them
    if rows < 2 or not results or any(sbp.axis >= y.ndim or y.shape[sbp.axis] % rows for y, sbp in results):
        return False
    names = context.output_names()
    for first, last in _ranges(rows):
        expected = [_part(y, sbp.axis, rows, first, last) for y, sbp in results]
        part = [_part(t, s.axis, rows, first, last) if s.kind == SPLIT else t for t, s in _pairs(case, inputs)]
        _same(expected, run(part), f"rows {first} to {last} of {rows} alone", names)
        others = [
            _beside(t, s.axis, rows, first, last) if s.kind == SPLIT else t.clone() for t, s in _pairs(case, inputs)
        ]
        beside = [_part(y, sbp.axis, rows, first, last) for y, sbp in zip(run(others), outputs, strict=False)]
        _same(expected, beside, f"rows {first} to {last} of {rows} beside other rows", names)
    return True


def _pairs(case: Case, inputs: Sequence[Sbp]) -> list[tuple[torch.Tensor, Sbp]]:
    return list(zip(case.make(), inputs, strict=True))


def _same(expected: Tensors, actual: Tensors, what: str, names: Sequence[str]) -> None:
    try:
        assert_same(expected, list(actual)[: len(expected)], what, names)
    except Broken as broken:
        raise Broken(f"{_WHAT}: {broken.message}") from None


def _ranges(rows: int) -> list[tuple[int, int]]:
    """Return parts of a batch: the first row, the last, one between, all but the first, a half."""
    middle = rows // 2
    return list(dict.fromkeys([(0, 1), (rows - 1, rows), (middle, middle + 1), (1, rows), (0, max(middle, 1))]))


def _part(tensor: torch.Tensor, axis: int, rows: int, first: int, last: int) -> torch.Tensor:
    """Return rows, not where memory begins: a batch has its rows at all places."""
    step = tensor.shape[axis] // rows
    part = tensor.narrow(axis, first * step, (last - first) * step)
    skipped_elements = max(16 // part.element_size(), 1)
    room = part.new_empty(part.numel() + skipped_elements)[skipped_elements:].view(part.shape)
    return room.copy_(part)


def _beside(tensor: torch.Tensor, axis: int, rows: int, first: int, last: int) -> torch.Tensor:
    """Return the tensor with other values in all other rows: a NaN, or those of the rows in another order."""
    step = tensor.shape[axis] // rows
    if tensor.is_floating_point() and tensor.element_size() > 1:
        other = torch.full_like(tensor, torch.nan)
    else:
        other = tensor.flip(axis)
    other = other.contiguous()
    size = (last - first) * step
    other.narrow(axis, first * step, size).copy_(tensor.narrow(axis, first * step, size))
    return other
